/** Which branch a ComputeEndpoint names: one by its id, or that of a DatabaseBranch. */
import type { ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, deletionFieldsOf, planeOf, projectIdOf } from "./compute-endpoint.ts";
import { conditionOf } from "./conditions.ts";
import type { DatabaseBranch } from "./database-branch.ts";
import { type Identity, isRecordOf } from "./identity.ts";
import { isBeingDeleted } from "./stored-object.ts";

export type FindBranch = (key: ResourceKey) => DatabaseBranch | undefined;

export type BranchPlace =
  /** `spec.branchId` names it. */
  | { readonly kind: "ById" }
  | {
      readonly kind: "Proven";
      readonly branchId: string;
      /** The parent as the spec of the DatabaseBranch names it; "": the default branch. */
      readonly parent: string;
      /** Names the copy of the parent's data that the branch holds: the time of its last reset, or `Created`. */
      readonly copy: string;
    }
  /** There is no DatabaseBranch, it is being deleted, made or reset, or its record does not prove a branch. */
  | { readonly kind: "Unproven"; readonly name: string; readonly isUnfinished?: boolean; readonly parent?: string }
  /** The DatabaseBranch is of another project or control plane. */
  | { readonly kind: "Mismatch"; readonly name: string };

export const byId: BranchPlace = { kind: "ById" };

/** The branch of a DatabaseBranch counts only if its ownership record was made for it, here, and it has its data. Pure. */
export function placeOf(resource: ComputeEndpoint, find: FindBranch, identity: Identity): BranchPlace {
  const { name } = deletionFieldsOf(resource).branchRef ?? {};
  if (name === undefined) {
    return byId;
  }
  const branch = find({ namespace: resource.key.namespace, name });
  if (branch?.spec.kind !== "Valid" || isBeingDeleted(branch)) {
    return { kind: "Unproven", name };
  }
  const { projectId, planeId } = branch.place;
  if (projectId !== projectIdOf(resource) || planeId !== planeOf(resource)) {
    return { kind: "Mismatch", name };
  }
  const { parent: ref } = branch.spec.spec;
  const parent = ref?.name ?? ref?.branchId ?? "";
  const { ownership, lastResetTime: copy = "Created", resetIntent, state = "", conditions } = branch.status;
  const isShown = ["init", "resetting"].includes(state) || conditionOf(conditions, "Ready")?.reason === "Resetting";
  const isUnfinished = isShown || resetIntent !== undefined;
  return ownership !== undefined && !isUnfinished && isRecordOf(branch, ownership, identity)
    ? { kind: "Proven", branchId: ownership.branchId, parent, copy }
    : { kind: "Unproven", name, parent, ...(isUnfinished && { isUnfinished }) };
}
