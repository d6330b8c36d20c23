import type { Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";

/**
 * One unresolved create per project, branch and type. Whoever waits is woken when the turn becomes free; the delay is
 * for a create of which this process knows from status only.
 */
export function waitForTurn(policy: Policy): Plan {
  return {
    kind: "Wait",
    reason: "WaitingForProject",
    message: "Another create on this branch is not resolved yet; this one follows.",
    requeueAfterMs: policy.operationPollMs,
  };
}
