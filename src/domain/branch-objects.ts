/** The port to the roles and databases of a branch in the control plane. */
import type { Operation } from "./operation.ts";

/** The ids of a branch of the control plane and of its project. */
export interface BranchPath {
  readonly projectId: string;
  readonly branchId: string;
}

/** A role of a branch. */
export interface ObservedRole {
  readonly name: string;
  /** True: the control plane lets no client change this role. */
  readonly isProtected: boolean;
  /**
   * When the role was changed last, RFC 3339 of the control plane's clock. It changes with the password; the operator
   * only checks whether it is equal.
   */
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
  /** The new password; `undefined`: the request made none. */
  readonly password: Password | undefined;
  readonly operations: readonly Operation[];
}

/** The answer to a create, change or deletion of a role or database that makes no password. */
export interface ObjectChange {
  readonly operations: readonly Operation[];
}

/**
 * Roles and databases of branches in the control plane. The name identifies an object: a second create with the same
 * name is refused.
 *
 * Guarantees and errors are those of `ControlPlane`. Reading never starts a compute.
 */
export interface BranchObjects {
  listRoles(branch: BranchPath): Promise<readonly ObservedRole[]>;
  createRole(branch: BranchPath, roleName: string): Promise<RoleChange>;
  /** Deletes a role. @returns `undefined` if the control plane answered that there is none (404 or 204) */
  deleteRole(branch: BranchPath, roleName: string): Promise<ObjectChange | undefined>;
  /** Reads the password of a role. @returns `undefined` if the control plane does not store passwords (412) */
  revealPassword(branch: BranchPath, roleName: string): Promise<Password | undefined>;
  /** Replaces the password of a role. Open connections stay open. */
  resetPassword(branch: BranchPath, roleName: string): Promise<RoleChange>;
  listDatabases(branch: BranchPath): Promise<readonly ObservedDatabase[]>;
  createDatabase(branch: BranchPath, database: ObservedDatabase): Promise<ObjectChange>;
  /** Deletes a database. @returns `undefined` if the control plane answered that there is none (404 or 204) */
  deleteDatabase(branch: BranchPath, databaseName: string): Promise<ObjectChange | undefined>;
}

const hidden = "[redacted]";

/**
 * A password that the operator moves from the control plane to a Secret. Everything that prints or serializes it
 * shows `[redacted]`; only `reveal` returns the text.
 */
export class Password {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the password as text. Only the code that writes the Secret may call it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  /** Returns the text that Node prints for this object: `[redacted]`. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
