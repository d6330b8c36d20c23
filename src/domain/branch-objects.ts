import type { Operation } from "./operation.ts";
import type { Password } from "./password.ts";

/** A branch of a project of the control plane. */
export interface BranchPath {
  readonly projectId: string;
  readonly branchId: string;
}

/** A role of a branch. */
export interface ObservedRole {
  readonly name: string;
  /** The control plane does not let anyone change it. */
  readonly isProtected: boolean;
  /** RFC 3339, the control plane's clock. It changes with the password; the operator only compares it for equality. */
  readonly updatedTime: string;
}

/** A database of a branch. */
export interface ObservedDatabase {
  readonly name: string;
  readonly ownerName: string;
}

/** The answer to a change of a role. */
export interface RoleChange {
  readonly role: ObservedRole;
  /** Present if the request made the password. */
  readonly password: Password | undefined;
  readonly operations: readonly Operation[];
}

/** The answer to a change of a database, or to a deletion. */
export interface ObjectChange {
  readonly operations: readonly Operation[];
}

/**
 * Roles and databases of branches, at the control plane. Names are identities: a second create of a name is refused.
 *
 * Guarantees and errors are those of `ControlPlane`. No call wakes a compute by reading.
 */
export interface BranchObjects {
  listRoles(branch: BranchPath): Promise<readonly ObservedRole[]>;
  createRole(branch: BranchPath, roleName: string): Promise<RoleChange>;
  /** `undefined`: the control plane answered that there is none (404 or 204). */
  deleteRole(branch: BranchPath, roleName: string): Promise<ObjectChange | undefined>;
  /** `undefined`: the control plane does not store passwords (412). */
  revealPassword(branch: BranchPath, roleName: string): Promise<Password | undefined>;
  /** Replaces the password; connections that are open stay open. */
  resetPassword(branch: BranchPath, roleName: string): Promise<RoleChange>;
  listDatabases(branch: BranchPath): Promise<readonly ObservedDatabase[]>;
  createDatabase(branch: BranchPath, database: ObservedDatabase): Promise<ObjectChange>;
  /** `undefined`: the control plane answered that there is none (404 or 204). */
  deleteDatabase(branch: BranchPath, databaseName: string): Promise<ObjectChange | undefined>;
}

/** Stands before a call: starts it, or throws in its place. */
export type ObjectCallGuard = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** The same port with every call led through a guard: one for reads, one for writes. */
export function guardBranchObjects(
  inner: BranchObjects,
  { read, write }: { readonly read: ObjectCallGuard; readonly write: ObjectCallGuard },
): BranchObjects {
  return {
    listRoles: (branch) => read(() => inner.listRoles(branch)),
    listDatabases: (branch) => read(() => inner.listDatabases(branch)),
    revealPassword: (branch, roleName) => read(() => inner.revealPassword(branch, roleName)),
    createRole: (branch, roleName) => write(() => inner.createRole(branch, roleName)),
    deleteRole: (branch, roleName) => write(() => inner.deleteRole(branch, roleName)),
    resetPassword: (branch, roleName) => write(() => inner.resetPassword(branch, roleName)),
    createDatabase: (branch, database) => write(() => inner.createDatabase(branch, database)),
    deleteDatabase: (branch, databaseName) => write(() => inner.deleteDatabase(branch, databaseName)),
  };
}
