/** The engine's calls about roles, databases and connection strings. */
import {
  createDatabase,
  createRole,
  type DatabaseChanges,
  type DatabaseMutation,
  type DatabasePath,
  databaseAt,
  deleteDatabase,
  deleteRole,
  type RoleMutation,
  type RolePath,
  resetPassword,
  roleAt,
  updateDatabase,
} from "./branch-contents.ts";
import type { DatabaseRecord, EndpointRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/**
 * The engine's calls about roles, databases and connection strings. Every method throws `Refusal` if it refuses the
 * request; any other error is a bug.
 */
export class BranchObjects {
  readonly #world: World;
  /** Carries out everything that is due by now, and then runs `work` as one transaction. */
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

  /**
   * Returns the password of a role.
   * @throws Refusal NotFound, NotAllowed (the role has no password), PreconditionFailed (the project stores no passwords)
   */
  password(path: RolePath): string {
    return this.#call(() => {
      const { password } = roleAt(this.#world, path);
      if (password === undefined) throw new Refusal("NotAllowed", "the role cannot log in");
      if (this.#world.project(path.projectId).storePasswords === false) {
        throw new Refusal(
          "PreconditionFailed",
          "the project does not store passwords; reset the password to get a new one",
        );
      }
      return password;
    });
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

/** The branch, endpoint, database and role of a wanted connection string. */
export interface ConnectionTarget {
  /** The branch. `undefined`: the branch of `endpointId`, or the primary branch if `endpointId` is `undefined` too. */
  readonly branchId: string | undefined;
  /** The endpoint. `undefined`: the branch's read-write endpoint. */
  readonly endpointId: string | undefined;
  readonly databaseName: string;
  readonly roleName: string;
}

/** The address at which clients of databases connect, if computes run. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
}

/** The endpoint, role and database of a connection string. */
export interface Connection {
  readonly endpoint: EndpointRecord;
  readonly role: RoleRecord;
  readonly databaseName: string;
}

/**
 * Returns the endpoint, role and database for a connection string. If the project stores no passwords, the role has
 * none.
 * @throws Refusal NotFound
 */
export function connectionTo(world: World, projectId: string, target: ConnectionTarget): Connection {
  const endpoint = endpointOf(world, projectId, target);
  const { branchId } = endpoint;
  const { name: databaseName } = databaseAt(world, { projectId, branchId, databaseName: target.databaseName });
  const role = roleAt(world, { projectId, branchId, roleName: target.roleName });
  const isStored = world.project(projectId).storePasswords !== false;
  return { endpoint, databaseName, role: isStored ? role : { ...role, password: undefined } };
}

function endpointOf(world: World, projectId: string, target: ConnectionTarget): EndpointRecord {
  if (target.branchId !== undefined) world.branch(projectId, target.branchId);
  if (target.endpointId !== undefined) {
    const endpoint = world.endpoint(projectId, target.endpointId);
    if (endpoint.branchId === (target.branchId ?? endpoint.branchId)) return endpoint;
    throw new Refusal("NotFound", "endpoint not found");
  }
  world.project(projectId);
  const branchId = target.branchId ?? world.primaryBranch(projectId).id;
  const found = world.store.endpoints.ofBranch(branchId).find(({ type }) => type === "read_write");
  if (found === undefined) throw new Refusal("NotFound", "endpoint not found");
  return found;
}
