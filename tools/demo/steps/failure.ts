/** The steps about a failed operation: it fails, it is cleared, and an alert reports it. */
import type { NotifiedAlert } from "../../prometheus/webhook-receiver.ts";
import { endpointsPath, inNamespace, samples } from "../scene/names.ts";
import type { Step, Story } from "../scene/story.ts";

const newSize = JSON.stringify({ spec: { compute: { minUnits: 1, maxUnits: 4 } } });
const resource = `cpe/${samples.primary}`;
const failureMessage = '{.status.conditions[?(@.type=="LastOperationSucceeded")].message}{"\\n"}';
const failures = "^compute_endpoint_operation_fail";

const untilCondition = (story: Story, condition: string) =>
  story.kubectl(...inNamespace("wait", `--for=condition=${condition}`, resource, "--timeout=60s"));

/** Shows a failed operation in status, conditions, events and metrics. */
export const fail: Step = {
  title: "An operation fails, and shows",
  async play(story) {
    story.say("The sandbox shall let the next start fail; another size brings one about:");
    const body = { action: "start_compute", error: "no compute node has room" };
    await story.curl({ method: "POST", path: "/sandbox/v1/operations/fail-next", body });
    await story.kubectl(...inNamespace("patch", "cpe", samples.primary, "--type=merge", `-p=${newSize}`));
    await untilCondition(story, "LastOperationSucceeded=false");
    const get = inNamespace("get", "cpe", samples.primary);
    await story.kubectlUntil(get, (table) => table.includes("OperationFailed"));
    await story.kubectl(...get, `-o=jsonpath=${failureMessage}`);
    await story.events("OperationFailed", "TYPE:.type,REASON:.reason,MESSAGE:.message");
    await story.metrics(failures, (lines) => lines.length >= 2);
    await story.untilPaged("firing");
    return "the failure shows in the resource, the events and the metrics";
  },
};

/** Shows that a failure stays in status until the same action succeeds or a person acknowledges it. */
export const recover: Step = {
  title: "The next start ends the failure",
  async play(story) {
    const field = "-o=jsonpath={.status.ownership.endpointId}";
    const endpointId = await story.client.run(inNamespace("get", "cpe", samples.primary, field));
    story.say("The operator does not repeat a failed start. Start the compute by the API of the control plane:");
    await story.curl({ method: "POST", path: `${endpointsPath}/${endpointId}/start` });
    await untilCondition(story, "LastOperationSucceeded");
    await story.metrics(failures, (lines) => lines.length === 1);
    await story.untilPaged("resolved");
    return "no failure is left to act on; the counter keeps what happened";
  },
};

/** The last step: shows the text of the alert about the failed operation, or how to get one. */
export const page: Step = {
  title: "What the person on call received",
  async play(story) {
    const { monitoring } = story.stage;
    if (monitoring.kind === "Missing") {
      story.say(
        "deploy/monitoring/rules.yaml has the alert; here nothing evaluates it. Prometheus and Alertmanager are",
      );
      story.say("wanted:");
      story.terminal.quote(monitoring.why);
      return undefined;
    }
    for (const alert of story.alerts) showAlert(story, alert);
    return "a real Prometheus with the shipped rules saw it fail, a real Alertmanager reported it and its end";
  },
};

function showAlert({ terminal }: Story, { status, labels, annotations }: NotifiedAlert): void {
  const { alertname, ...others } = labels;
  const words = Object.entries(others).map(([name, value]) => `${name}=${value}`);
  terminal.quote(`${status.toUpperCase()}  ${alertname}  ${words.join(" ")}`);
  if (status === "resolved") return;
  const texts = [annotations.summary, annotations.description, annotations.runbook_url];
  for (const text of texts) terminal.quote(`  ${text}`);
}
