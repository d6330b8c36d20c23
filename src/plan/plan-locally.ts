import {
  type ComputeEndpoint,
  deletionPolicyOf,
  hasFinalizer,
  isBeingDeleted,
  isPaused,
} from "../resource/compute-endpoint.ts";
import { isIdentityProven } from "./identity.ts";
import type { LocalObservation } from "./observation.ts";
import type { Plan } from "./plan.ts";

/**
 * Decides all that can be decided without the service, so that a pause, a retained deletion or a broken spec never
 * depends on it. Pure and total.
 *
 * @returns `undefined` when the service must be read first.
 */
export function planLocally(observation: LocalObservation): Plan | undefined {
  const { resource } = observation;
  if (isBeingDeleted(resource) && !hasFinalizer(resource)) {
    return { kind: "Settled", unverifiable: [] };
  }
  if (isPaused(resource)) {
    return paused();
  }
  return isBeingDeleted(resource) ? planLocalDeletion(observation) : planLocalUpkeep(observation);
}

/** Whether deletion leaves the endpoint alone: as asked, else as it came to us. */
export function retainsEndpoint(resource: ComputeEndpoint): boolean {
  const asked = deletionPolicyOf(resource);
  if (asked !== undefined) {
    return asked === "Retain";
  }
  const origin = resource.status.ownership?.origin;
  return resource.isOwnershipReadable && (origin === "Adopted" || origin === "Presumed");
}

function planLocalDeletion(observation: LocalObservation): Plan | undefined {
  const { resource, identity, memory } = observation;
  const { ownership, createIntent } = resource.status;
  const hasUnrecordedEndpoint = memory.answeredCreate !== undefined && ownership === undefined;
  if (retainsEndpoint(resource) && !hasUnrecordedEndpoint) {
    return { kind: "RemoveFinalizer", cause: "Retained", abandoned: createIntent };
  }
  if (!isIdentityProven(resource, identity)) {
    return identityUnproven(resource);
  }
  // A finalizer without any status of ours: either nothing was begun, or the status was lost. The service knows.
  const hasStatus = resource.status.conditions !== undefined;
  if (hasStatus && ownership === undefined && createIntent === undefined && !hasUnrecordedEndpoint) {
    return { kind: "RemoveFinalizer", cause: "NeverCreated", abandoned: undefined };
  }
  return undefined;
}

function planLocalUpkeep({ resource, identity }: LocalObservation): Plan | undefined {
  if (!isIdentityProven(resource, identity)) {
    return identityUnproven(resource);
  }
  if (resource.spec.kind === "Invalid") {
    return {
      kind: "Stall",
      reason: "InvalidSpec",
      message: `The stored spec no longer fits: ${resource.spec.problems}. Apply a corrected spec.`,
    };
  }
  return hasFinalizer(resource) ? undefined : { kind: "AddFinalizer" };
}

function paused(): Plan {
  return {
    kind: "Wait",
    reason: "Paused",
    message:
      "Paused: nothing is changed, deletion included. Remove the annotation endpoint-operator.dev/paused to go on.",
    requeueAfterMs: undefined,
  };
}

function identityUnproven(resource: ComputeEndpoint): Plan {
  const remedy = isBeingDeleted(resource)
    ? "To let this resource go and leave the endpoint as it is, set spec.deletionPolicy to Retain."
    : "Start the operator with the service URL and CLUSTER_ID of the record, or delete this resource with spec.deletionPolicy Retain and create it again with spec.adoption.";
  return {
    kind: "Stall",
    reason: "IdentityUnproven",
    message: `The ownership record in status was not made for this resource in this cluster with this service, so nothing outside is touched. ${remedy}`,
  };
}
