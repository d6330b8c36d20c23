/** Decides what is the same for every kind and needs no read: pauses, deletions without work, missing rights. */
import { annotations } from "../resource/names.ts";
import { isBeingDeleted, isPaused } from "../resource/stored-object.ts";
import { type CommonPlan, type Facts, type KindInProject, type ProjectFacts, stall } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";

export interface Standing<T extends KindTypes> {
  readonly kind: Pick<KindInProject<T>, "deletionWork" | "isKeptWhilePaused" | "isProven" | "missingGrant">;
  readonly finalizer: string;
  readonly project: Pick<ProjectFacts, "problem">;
}

/** The checks in their order. @returns `undefined`: the kind decides */
export function planStanding<T extends KindTypes>(
  { kind, finalizer, project }: Standing<T>,
  { resource, memory }: Facts<T>,
): CommonPlan | undefined {
  const isDeleted = isBeingDeleted(resource);
  if (isDeleted && !resource.finalizers.includes(finalizer)) {
    return { kind: "Idle", dueInMs: undefined };
  }
  if (isPaused(resource) && !isKept(kind, resource)) {
    return paused;
  }
  const held = isDeleted ? kind.deletionWork(resource) : "Something";
  if (held !== "Something") {
    return { kind: "RemoveFinalizer", cause: held === "Nothing" ? "NeverCreated" : "Retained" };
  }
  const { problem } = project;
  if (problem !== undefined && (isDeleted || kind.missingGrant(resource) === undefined)) {
    return stall(problem.reason, problem.message);
  }
  if (problem === undefined && kind.isProven?.(resource) === false) {
    return unproven(isDeleted);
  }
  // The answer to a create is stored first, whatever spec says now.
  return memory.posts?.answer === undefined || isDeleted ? planRights(kind, resource) : undefined;
}

function isKept<T extends KindTypes>(kind: Pick<KindInProject<T>, "isKeptWhilePaused">, resource: T["resource"]) {
  return !isBeingDeleted(resource) && kind.isKeptWhilePaused?.(resource) === true;
}

function planRights<T extends KindTypes>(
  kind: Pick<KindInProject<T>, "missingGrant">,
  resource: T["resource"],
): CommonPlan | undefined {
  if (!isBeingDeleted(resource) && resource.spec.kind === "Invalid") {
    return invalidSpec(resource.spec.problems);
  }
  const missing = kind.missingGrant(resource);
  return missing === undefined ? undefined : stall("ProjectNotGranted", missing);
}

function unproven(isDeleted: boolean): CommonPlan {
  const remedy = isDeleted
    ? "To remove this resource and leave all that as it is, set each deletionPolicy in spec to Retain."
    : "Restore the control plane, the URL and the CLUSTER_ID that the records name. Or set each deletionPolicy in spec to Retain, delete this resource, and create it again. A new ComputeEndpoint then needs spec.adoption, and a new DatabaseBranch another spec.name.";
  return stall(
    "IdentityUnproven",
    `The records in status were not made for this resource in this cluster with this control plane, or cannot be read. The operator changes nothing that they name. ${remedy}`,
  );
}

export function invalidSpec(problems: string): CommonPlan {
  return stall("InvalidSpec", `The stored spec is not valid: ${problems}. Apply a corrected spec.`);
}

export const paused: CommonPlan = {
  kind: "Wait",
  reason: "Paused",
  message: `Paused: the operator changes nothing, deletion included. Remove the annotation ${annotations.paused} to continue.`,
  waitMs: undefined,
};
