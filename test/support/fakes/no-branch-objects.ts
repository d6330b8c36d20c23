/** The calls for branches, roles and databases of a control plane whose test uses none of them. */
import type { BranchCalls } from "../../../src/domain/branch.ts";
import type { BranchObjects } from "../../../src/domain/control-plane.ts";

const unexpected = async () => {
  throw new Error("this test uses no branch, no role and no database");
};

/** Calls that all fail. */
export const noBranchObjects: BranchObjects & BranchCalls = {
  listBranches: unexpected,
  getBranch: unexpected,
  createBranch: unexpected,
  setBranchExpiry: unexpected,
  resetBranch: unexpected,
  deleteBranch: unexpected,
  branchUnitSeconds: unexpected,
  listRoles: unexpected,
  createRole: unexpected,
  deleteRole: unexpected,
  revealPassword: unexpected,
  resetPassword: unexpected,
  listDatabases: unexpected,
  createDatabase: unexpected,
  deleteDatabase: unexpected,
};
