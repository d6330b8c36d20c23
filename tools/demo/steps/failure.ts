/** The steps about a failed operation: it fails, it is cleared, and an alert reports it. */
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { shop } from "../scene/names.ts";
import { alertsOf, type Step, type Story, showEvents } from "../scene/story.ts";

const failures = "curl -s $METRICS | grep '^compute_endpoint_operation_fail'";
const linesOf = (output: string) => output.split("\n").filter((line) => line !== "");

/** The alert that the demo shows. */
const failedAlert = "ComputeEndpointOperationFailed";

/** Waits until the pager has received the alert about the failed operation, or its end, if there is monitoring. */
async function untilPaged(story: Story, status: NotifiedAlert["status"]): Promise<void> {
  if (story.monitoring.kind === "Missing") return;
  const isWanted = (alert: NotifiedAlert) => alert.labels.alertname === failedAlert && alert.status === status;
  await story.shell.waitFor(
    `the pager hears of ${failedAlert}, ${status}`,
    () => alertsOf(story).some(isWanted) || undefined,
  );
}

/** Shows a failed operation in status, conditions, events and metrics. */
export const fail: Step = {
  title: "An operation fails, and shows",
  async play(story) {
    const { shell } = story;
    shell.say("The sandbox shall let the next start fail; another size brings one about:");
    const failure = '{"action":"start_compute","error":"no compute node has room"}';
    await shell.do(`curl -sf --json '${failure}' $SANDBOX/sandbox/v1/operations/fail-next`);
    const size = `-p='{"spec":{"compute":{"minUnits":1,"maxUnits":4}}}'`;
    await shell.run(`kubectl ${shop} patch cpe orders --type=merge ${size}`);
    await shell.run(`kubectl ${shop} wait --for=condition=LastOperationSucceeded=false cpe/orders --timeout=60s`);
    await shell.until(`kubectl ${shop} get cpe orders`, (table) => table.includes("OperationFailed"));
    shell.say("A kubectl plugin comes with the operator. It says why, and what to do:");
    await shell.run(`kubectl endpoints why orders ${shop} || true`);
    await showEvents(story, "OperationFailed", "TYPE:.type,REASON:.reason,MESSAGE:.message");
    await shell.until(failures, (output) => linesOf(output).length >= 2);
    await untilPaged(story, "firing");
    return "the failure shows in the resource, the events and the metrics";
  },
};

/** Shows that a failure stays in status until the same action succeeds or a person acknowledges it. */
export const recover: Step = {
  title: "The next start ends the failure",
  async play(story) {
    const { shell } = story;
    shell.say("The operator does not repeat a failed start. Ask it to start the compute:");
    await shell.run(`kubectl endpoints wake orders ${shop}`);
    await shell.run(`kubectl ${shop} wait --for=condition=LastOperationSucceeded cpe/orders --timeout=60s`);
    await shell.until(failures, (output) => linesOf(output).length === 1);
    await untilPaged(story, "resolved");
    return "no failure is left to act on; the counter keeps what happened";
  },
};

/** The last step: shows the text of the alert about the failed operation, or how to get one. */
export const page: Step = {
  title: "What the person on call received",
  async play(story) {
    const { shell, monitoring } = story;
    if (monitoring.kind === "Missing") {
      shell.say("deploy/monitoring/rules.yaml has the alert. Here nothing evaluates it, because a program is missing:");
      shell.terminal.quote(monitoring.why);
      return undefined;
    }
    for (const { status, labels, annotations } of alertsOf(story)) {
      const { alertname, ...others } = labels;
      const words = Object.entries(others).map(([name, value]) => `${name}=${value}`);
      shell.terminal.quote(`${status.toUpperCase()}  ${alertname}  ${words.join(" ")}`);
      const texts = [annotations.summary, annotations.description, annotations.runbook_url];
      if (status === "firing") for (const text of texts) shell.terminal.quote(`  ${text}`);
    }
    return "a real Prometheus with the shipped rules saw it fail, a real Alertmanager reported it and its end";
  },
};
