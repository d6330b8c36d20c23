import { databaseAt } from "./databases.ts";
import type { EndpointRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { roleAt } from "./roles.ts";
import type { World } from "./world.ts";

/** What a client wants to connect to. */
export interface ConnectionTarget {
  /** `undefined`: the endpoint's, or else the primary one. */
  readonly branchId: string | undefined;
  /** `undefined`: the branch's read-write endpoint. */
  readonly endpointId: string | undefined;
  readonly databaseName: string;
  readonly roleName: string;
}

/** What a connection string is made of. */
export interface Connection {
  readonly endpoint: EndpointRecord;
  readonly role: RoleRecord;
  readonly databaseName: string;
}

/** @throws Refusal NotFound */
export function connectionTo(world: World, projectId: string, target: ConnectionTarget): Connection {
  const endpoint = endpointOf(world, projectId, target);
  const { branchId } = endpoint;
  const { name: databaseName } = databaseAt(world, { projectId, branchId, databaseName: target.databaseName });
  return { endpoint, databaseName, role: roleAt(world, { projectId, branchId, roleName: target.roleName }) };
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
