/** Passwords and connection strings. */
import { databaseAt, type RolePath, roleAt } from "./branch-contents.ts";
import type { EndpointRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/**
 * Returns the password of a role.
 * @throws Refusal NotFound, NotAllowed (the role has no password), PreconditionFailed (the project stores no passwords)
 */
export function passwordOf(world: World, path: RolePath): string {
  const { password } = roleAt(world, path);
  if (password === undefined) throw new Refusal("NotAllowed", "the role cannot log in");
  if (world.project(path.projectId).storePasswords !== false) return password;
  throw new Refusal("PreconditionFailed", "the project does not store passwords; reset the password to get a new one");
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

/** Returns the endpoint, role and database for a connection string. @throws Refusal NotFound */
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
