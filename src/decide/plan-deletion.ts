/** Plans the deletion of an endpoint. */
import type { Ownership } from "../resource/status-schema.ts";
import type { Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { ownershipConflict } from "./plan-owned.ts";
import { planNamesake, planTokenSearch } from "./plan-unowned.ts";
import { remoteStateOf } from "./remote-state.ts";

/** The operator sends an accepted DELETE again if the endpoint is still there after this number of poll intervals. */
const looksBeforeDeletingAgain = 6;

/** Plans the next step of a resource that is being deleted together with its endpoint. */
export function planDeletion({ endpointId }: Ownership, observation: Observation): Plan {
  const conflict = ownershipConflict(observation, endpointId);
  if (conflict !== undefined) {
    return conflict;
  }
  const { memory, project, policy } = observation;
  const remote = remoteStateOf(project, endpointId, memory);
  switch (remote.kind) {
    case "Absent":
      // A restore of etcd can bring back an older record. Then the endpoint that replaced the recorded one would never
      // be deleted.
      return planNamesake(observation) ?? { kind: "RemoveFinalizer", cause: "Gone", abandoned: undefined };
    case "Unproven":
      return waitForProof(observation);
    case "Present": {
      const deleteAgainAfterMs = looksBeforeDeletingAgain * policy.operationPollMs;
      const { lastDelete } = memory;
      const isJustAccepted =
        lastDelete?.isAnswered === true && observation.monotonicMs - lastDelete.atMs < deleteAgainAfterMs;
      return isJustAccepted ? waitForProof(observation) : { kind: "DeleteEndpoint", endpointId };
    }
  }
}

/** Plans the next step of a resource that is being deleted and whose status names no endpoint. */
export function planUnrecordedDeletion(observation: Observation): Plan {
  return planTokenSearch(observation) ?? { kind: "RemoveFinalizer", cause: "NeverCreated", abandoned: undefined };
}

/** The condition message from before the DELETE until the endpoint is proven gone. */
export const deletingMessage = "The endpoint is being deleted. The operator waits for proof that it is gone.";

function waitForProof({ policy }: Observation): Plan {
  return { kind: "Wait", reason: "Deleting", message: deletingMessage, waitMs: policy.operationPollMs };
}
