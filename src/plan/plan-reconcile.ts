import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { Observation, Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planAcquisition } from "./plan-acquisition.ts";
import { planConvergence } from "./plan-convergence.ts";
import { planDeletion } from "./plan-deletion.ts";
import { planLocally } from "./plan-locally.ts";
import { planRecovery } from "./plan-recovery.ts";
import { recordAnsweredCreate } from "./record-ownership.ts";

/**
 * Chooses the one next step that moves the endpoint towards `spec`.
 *
 * Pure and total: no I/O, clock, randomness or logs; it never sees the event and never reads our own conditions back.
 * Guarantees `CreateEndpoint` only under a stored intent, and a change or deletion only of an endpoint that is recorded
 * as ours or carries our token.
 *
 * @param observation one complete read; `nowMs` is epoch milliseconds.
 * @returns one step; `Settled` when nothing differs.
 */
export function planReconcile(observation: Observation, policy: Policy): Plan {
  const local = planLocally(observation);
  if (local !== undefined) {
    return local;
  }
  const { resource } = observation;
  const answered = recordAnsweredCreate(observation);
  if (answered !== undefined) {
    return answered;
  }
  if (resource.status.createIntent !== undefined && resource.status.ownership === undefined) {
    return planRecovery(observation, resource.status.createIntent, policy);
  }
  if (isBeingDeleted(resource)) {
    return planDeletion(observation, policy);
  }
  const spec = validSpec(observation);
  return resource.status.ownership === undefined
    ? planAcquisition(observation, spec, policy)
    : planConvergence(observation, spec, policy);
}

/** `planLocally` has answered for every resource whose spec is broken and that is not being deleted. */
function validSpec({ resource }: Observation): ComputeEndpointSpec {
  if (resource.spec.kind === "Invalid") {
    throw new Error("a resource with a broken spec got past planLocally");
  }
  return resource.spec.spec;
}
