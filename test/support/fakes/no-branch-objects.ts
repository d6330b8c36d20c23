/** The calls for roles and databases of a control plane whose test uses none of them. */
import type { BranchObjects } from "../../../src/domain/control-plane.ts";

const unexpected = async () => {
  throw new Error("this test uses no role and no database");
};

/** Calls that all fail. */
export const noBranchObjects: BranchObjects = {
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
