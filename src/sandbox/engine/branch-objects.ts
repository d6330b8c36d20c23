import { type Connection, type ConnectionTarget, connectionTo } from "./connections.ts";
import {
  createDatabase,
  type DatabaseChanges,
  type DatabaseMutation,
  type DatabasePath,
  databaseAt,
  deleteDatabase,
  updateDatabase,
} from "./databases.ts";
import type { DatabaseRecord, RoleRecord } from "./records.ts";
import { createRole, deleteRole, type RoleMutation, type RolePath, resetPassword, roleAt } from "./roles.ts";
import type { World } from "./world.ts";

/** The engine's calls about roles and databases. Errors: every method throws `Refusal`, and nothing else on purpose. */
export class BranchObjects {
  readonly #world: World;
  /** Carries out what is due, then the work as one transaction. */
  readonly #call: <T>(work: () => T) => T;

  constructor(world: World, call: <T>(work: () => T) => T) {
    this.#world = world;
    this.#call = call;
  }

  roles(projectId: string, branchId: string): readonly RoleRecord[] {
    return this.#call(() => this.#world.store.roles.ofBranch(this.#world.branch(projectId, branchId).id));
  }

  role(path: RolePath): RoleRecord {
    return this.#call(() => roleAt(this.#world, path));
  }

  createRole(path: RolePath, options: { readonly canLogIn: boolean }): RoleMutation {
    return this.#call(() => createRole(this.#world, path, options));
  }

  resetPassword(path: RolePath): RoleMutation {
    return this.#call(() => resetPassword(this.#world, path));
  }

  deleteRole(path: RolePath): RoleMutation {
    return this.#call(() => deleteRole(this.#world, path));
  }

  databases(projectId: string, branchId: string): readonly DatabaseRecord[] {
    return this.#call(() => this.#world.store.databases.ofBranch(this.#world.branch(projectId, branchId).id));
  }

  database(path: DatabasePath): DatabaseRecord {
    return this.#call(() => databaseAt(this.#world, path));
  }

  createDatabase(path: DatabasePath, ownerName: string): DatabaseMutation {
    return this.#call(() => createDatabase(this.#world, path, ownerName));
  }

  updateDatabase(path: DatabasePath, changes: DatabaseChanges): DatabaseMutation {
    return this.#call(() => updateDatabase(this.#world, path, changes));
  }

  deleteDatabase(path: DatabasePath): DatabaseMutation {
    return this.#call(() => deleteDatabase(this.#world, path));
  }

  connection(projectId: string, target: ConnectionTarget): Connection {
    return this.#call(() => connectionTo(this.#world, projectId, target));
  }
}
