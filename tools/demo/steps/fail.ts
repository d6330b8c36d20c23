/** The steps in which an operation fails and the failure is cleared. */
import { endpointsPath, inNamespace, samples } from "../scene/names.ts";
import { curl, eventsUntil, kubectl, kubectlUntil, metricsUntil, secondsSince } from "../scene/narrate.ts";
import type { Step } from "../scene/story.ts";
import { untilPaged } from "../scene/until-paged.ts";

const newSize = JSON.stringify({ spec: { compute: { minUnits: 1, maxUnits: 4 } } });
const resource = `cpe/${samples.primary}`;
const failureMessage = '{.status.conditions[?(@.type=="LastOperationSucceeded")].message}{"\\n"}';

/** Shows a failed operation in status, conditions, events and metrics. */
export const fail: Step = {
  title: "An operation fails, and shows",
  async play(story) {
    const { terminal } = story;
    const startMs = performance.now();
    terminal.say("The sandbox shall let the next start fail; another size brings one about:");
    await curl(story, {
      method: "POST",
      path: "/sandbox/v1/operations/fail-next",
      body: { action: "start_compute", error: "no compute node has room" },
    });
    await kubectl(story, inNamespace("patch", "cpe", samples.primary, "--type=merge", `-p=${newSize}`));
    await kubectl(
      story,
      inNamespace("wait", "--for=condition=LastOperationSucceeded=false", resource, "--timeout=60s"),
    );
    await kubectlUntil(story, inNamespace("get", "cpe", samples.primary), (table) => table.includes("OperationFailed"));
    await kubectl(story, inNamespace("get", "cpe", samples.primary, `-o=jsonpath=${failureMessage}`));
    await eventsUntil(story, "OperationFailed", "TYPE:.type,REASON:.reason,MESSAGE:.message");
    await metricsUntil(story, "^compute_endpoint_operation_fail", (lines) => lines.length >= 2);
    await untilPaged(story, "firing");
    terminal.success(`the failure shows in the resource, the events and the metrics (${secondsSince(startMs)})`);
  },
};

/** Shows that a failure stays in status until the same action succeeds or a person acknowledges it. */
export const recover: Step = {
  title: "The next start ends the failure",
  async play(story) {
    const { terminal, kubectl: client } = story;
    const startMs = performance.now();
    const { status } = await client.getJson<{
      readonly status: { readonly ownership: { readonly endpointId: string } };
    }>(inNamespace("get", "cpe", samples.primary));
    terminal.say("The operator does not repeat a failed start. Start the compute by the API of the control plane:");
    await curl(story, {
      method: "POST",
      path: `${endpointsPath}/${status.ownership.endpointId}/start`,
    });
    await kubectl(story, inNamespace("wait", "--for=condition=LastOperationSucceeded", resource, "--timeout=60s"));
    await metricsUntil(story, "^compute_endpoint_operation_fail", (lines) => lines.length === 1);
    await untilPaged(story, "resolved");
    terminal.success(`no failure is left to act on; the counter keeps what happened (${secondsSince(startMs)})`);
  },
};
