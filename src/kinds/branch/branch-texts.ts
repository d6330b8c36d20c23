/** The texts of a DatabaseBranch. */
import { stall } from "../../engine/kind.ts";
import type { Wording } from "../../engine/summary.ts";
import { failureCause } from "../../operations/status-operations.ts";
import type { DatabaseBranch } from "../../resource/database-branch.ts";
import { annotations } from "../../resource/names.ts";
import type { StatusOperation } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";

const retain =
  "To remove this resource and leave the branch as it is, set spec.deletionPolicy to Retain. That works without the control plane.";

export const branchWording: Wording = {
  deleting: "The branch is being deleted. The operator waits for proof that it is gone.",
  deletionRemedy: retain,
};

export const stalls = {
  notSupported: (resource: DatabaseBranch) =>
    stall(
      "BranchesNotSupported",
      `The control plane has no calls for branches with annotations, so it cannot have a DatabaseBranch. ${isBeingDeleted(resource) ? retain : "Delete this resource, or name another control plane in a new one."}`,
    ),
  unreadable: (id: string) =>
    stall(
      "CreateAmbiguous",
      `The answer to a create was lost, and the operator cannot read branch ${id || "without an id"}, which may be its result. Ask the provider to correct it, or delete it. ${retain}`,
    ),
  exists: (name: string) =>
    stall(
      "BranchExists",
      `The project has a branch ${name}, and this resource did not create it. Create this resource again with another spec.name, or delete that branch.`,
    ),
  ownedElsewhere: (name: string) =>
    stall(
      "OwnedElsewhere",
      `Another cluster created branch ${name}. Create this resource again with another spec.name, or delete that branch there.`,
    ),
  parentNotFound: (parent: string, projectId: string) =>
    stall(
      "BranchNotFound",
      `Project ${projectId} has no branch ${parent} to copy. Create that branch, or create this resource again with another spec.parent.`,
    ),
  limitReached: (message: string) =>
    stall("BranchLimitReached", `${message}. Delete branches of the project, or raise the limit of its plan.`),
  expired: (branchId: string, time: string) =>
    stall(
      "BranchExpired",
      `The lease of branch ${branchId} ended at ${time}, and the control plane deleted the branch. Recover it there within seven days, or delete this resource and create it again.`,
    ),
  failed: (operation: StatusOperation, state: string) =>
    stall(
      "BranchFailed",
      `The operation ${operation.action} failed${failureCause(operation)}. The branch stays in the state ${state}, and nothing uses it. ${state === "resetting" ? `To reset it again, set the annotation ${annotations.resetRequestedAt} to a new value.` : "Delete this resource, and create it again."}`,
    ),
  hasChildren: (what: string, children: readonly string[]) =>
    stall(
      "BranchHasChildren",
      `The control plane does not ${what} a branch that has children: ${children.join(", ")}. Delete them first.`,
    ),
  isProtected: (what: string) =>
    stall("BranchProtected", `The operator does not ${what} a protected branch. Remove its protection first.`),
  hasNoParent: () =>
    stall(
      "BranchHasNoParent",
      `The branch has no parent to reset it to. Remove the annotation ${annotations.resetRequestedAt}.`,
    ),
} as const;
