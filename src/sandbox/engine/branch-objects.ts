/** Passwords and connection strings. */
import { databaseAt, type RolePath, roleAt } from "./branch-contents.ts";
import type { EndpointRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** @throws Refusal NotFound, NotAllowed (no password), PreconditionFailed (the project stores no passwords) */
export function passwordOf(world: World, path: RolePath): string {
  const { password } = roleAt(world, path);
  if (password === undefined) throw new Refusal("NotAllowed", "the role cannot log in");
  if (world.project(path.projectId).storePasswords !== false) return password;
  throw new Refusal("PreconditionFailed", "the project does not store passwords; reset the password to get a new one");
}

export interface ConnectionTarget {
  /** `undefined`: the branch of `endpointId`, else the primary branch. */
  readonly branchId: string | undefined;
  /** `undefined`: the branch's read-write endpoint. */
  readonly endpointId: string | undefined;
  readonly databaseName: string;
  readonly roleName: string;
}

export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
}

export interface Connection {
  readonly endpoint: EndpointRecord;
  readonly role: RoleRecord;
  readonly databaseName: string;
}

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
