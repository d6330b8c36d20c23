import type { Observation, Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planDuplicate } from "./plan-duplicate.ts";
import { planRediscovery } from "./record-ownership.ts";

/** Looks at an endpoint whose DELETE was accepted before the DELETE is sent again. */
const looksBeforeDeletingAgain = 6;

/** The next step of a resource that is being deleted, with its endpoint, and has no open create. */
export function planDeletion(observation: Observation, policy: Policy): Plan {
  const duplicate = planDuplicate(observation);
  if (duplicate !== undefined) {
    return duplicate;
  }
  const { remote, memory, project } = observation;
  switch (remote.kind) {
    case "NotOwned":
      // A status that was lost does not make the endpoint with our token nobody's.
      return planRediscovery(observation) ?? { kind: "RemoveFinalizer", cause: "NeverCreated", abandoned: undefined };
    case "Absent":
      return { kind: "RemoveFinalizer", cause: "Gone", abandoned: undefined };
    case "Unproven":
      return deleting(policy);
    case "Present": {
      const deleteAgainAfterMs = looksBeforeDeletingAgain * policy.operationPollMs;
      const isJustSent = memory.lastDeleteMs !== undefined && project.asOfMs - memory.lastDeleteMs < deleteAgainAfterMs;
      return isJustSent
        ? deleting(policy)
        : { kind: "DeleteEndpoint", endpointId: remote.endpoint.id, cause: "Deletion" };
    }
  }
}

function deleting(policy: Policy): Plan {
  return {
    kind: "Wait",
    reason: "Deleting",
    message: "The endpoint is being deleted; waiting for proof that it is gone.",
    requeueAfterMs: policy.operationPollMs,
  };
}
