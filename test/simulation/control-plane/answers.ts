/** Answers the requests of the operator from the simulated control plane, as JSON. */
import type { Mutation, Request } from "../ports.ts";
import type { ControlPlaneServer, Creator } from "./server.ts";
import { changesFromWire, creationFromWire, endpointToWire, mutationToWire, operationToWire } from "./wire.ts";

/** A request that has reached the control plane. */
export interface Arrived {
  readonly server: ControlPlaneServer;
  readonly request: Pick<Request<unknown>, "method" | "template" | "ids" | "query" | "body">;
  readonly creator: Creator;
}

export interface Answered {
  readonly json: unknown;
  /** What changed, for a write to an endpoint. */
  readonly mutation?: Mutation;
}

/** A read of an endpoint of which clients can parse only id and name. */
export class UnreadableError extends Error {}

type Answer = (ids: readonly [string, string, string], arrived: Arrived) => Answered;

const endpoint = "/projects/{project_id}/endpoints/{endpoint_id}";
const branch = "/projects/{project_id}/branches/{branch_id}";
const role = `${branch}/roles/{role_name}`;

const answers: Readonly<Record<string, Answer>> = {
  "GET /projects/{project_id}/endpoints": ([projectId], { server }) => {
    const { endpoints, unreadableIds } = server.list(projectId);
    return { json: { endpoints: [...endpoints.map(endpointToWire), ...unreadableIds.map((id) => ({ id }))] } };
  },
  "POST /projects/{project_id}/endpoints": ([projectId], { server, request, creator }) =>
    changed(server.create(projectId, creationFromWire(request.body), creator)),
  [`GET ${endpoint}`]: ([projectId, id], { server }) => {
    if (server.unreadable.has(id)) throw new UnreadableError();
    return { json: { endpoint: endpointToWire(server.endpoint(projectId, id)) } };
  },
  [`PATCH ${endpoint}`]: ([projectId, id], { server, request }) =>
    changed(server.update(projectId, id, changesFromWire(request.body))),
  [`POST ${endpoint}/start`]: ([projectId, id], { server }) => changed(server.changePower(projectId, id, "start")),
  [`POST ${endpoint}/suspend`]: ([projectId, id], { server }) => changed(server.changePower(projectId, id, "suspend")),
  [`DELETE ${endpoint}`]: ([projectId, id], { server }) => changed(server.delete(projectId, id)),
  "GET /projects/{project_id}/operations": ([projectId], { server, request: { query = {} } }) => {
    const all = server.operations(projectId);
    const { limit = "", cursor } = query;
    const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    const operations = all.slice(from, from + Number(limit));
    const next = from + Number(limit) < all.length ? operations.at(-1)?.id : undefined;
    return { json: { operations: operations.map(operationToWire), pagination: { cursor: next } } };
  },
  "GET /projects/{project_id}/operations/{operation_id}": ([projectId, id], { server }) => ({
    json: { operation: operationToWire(server.operation(projectId, id)) },
  }),
  [`GET ${branch}/roles`]: ([projectId, branchId], { server }) => ({
    json: { roles: server.roles(projectId, branchId).map((each) => roleToWire(branchId, each)) },
  }),
  [`POST ${branch}/roles`]: ([projectId, branchId], { server, request }) =>
    roleChanged(branchId, server.createRole({ projectId, branchId, roleName: roleOf(request) })),
  [`DELETE ${role}`]: ([projectId, branchId, roleName], { server }) =>
    roleChanged(branchId, {
      role: { name: roleName, updatedTime: "" },
      ...server.deleteRole({ projectId, branchId, roleName }),
    }),
  [`GET ${role}/reveal_password`]: ([projectId, branchId, roleName], { server }) => ({
    json: { password: server.passwordOf({ projectId, branchId, roleName }) },
  }),
  [`POST ${role}/reset_password`]: ([projectId, branchId, roleName], { server }) =>
    roleChanged(branchId, server.resetPassword({ projectId, branchId, roleName })),
  [`GET ${branch}/databases`]: ([projectId, branchId], { server }) => ({
    json: {
      databases: server
        .databases(projectId, branchId)
        .map(({ name, ownerName }) => ({ name, branch_id: branchId, owner_name: ownerName })),
    },
  }),
  [`POST ${branch}/databases`]: ([projectId, branchId], { server, request }) => {
    const { database } = request.body as { readonly database: { readonly name: string; readonly owner_name: string } };
    const path = { projectId, branchId, databaseName: database.name };
    return databaseChanged(path, server.createDatabase(path, database.owner_name));
  },
  [`DELETE ${branch}/databases/{database_name}`]: ([projectId, branchId, databaseName], { server }) => {
    const path = { projectId, branchId, databaseName };
    return databaseChanged(path, server.deleteDatabase(path));
  },
};

/** @throws Refusal; UnreadableError */
export function answerOf(arrived: Arrived): Answered {
  const { method, template, ids } = arrived.request;
  const answer = answers[`${method} ${template}`];
  if (answer === undefined) throw new Error(`the simulated control plane has no ${method} ${template}`);
  return answer(ids as Parameters<Answer>[0], arrived);
}

export function roleOf({ body }: Pick<Request<unknown>, "body">): string {
  return (body as { readonly role: { readonly name: string } }).role.name;
}

function changed(mutation: Mutation): Answered {
  return { json: mutationToWire(mutation), mutation };
}

type RoleChanged = ReturnType<ControlPlaneServer["deleteRole"]> & {
  readonly role: ReturnType<ControlPlaneServer["createRole"]>["role"];
  readonly password?: string;
};

function roleChanged(branchId: string, { role: changedRole, password, operations }: RoleChanged): Answered {
  const wire = { ...roleToWire(branchId, changedRole), password };
  return { json: { role: wire, operations: operations.map(operationToWire) } };
}

function roleToWire(branchId: string, { name, updatedTime }: RoleChanged["role"]) {
  return { name, branch_id: branchId, updated_at: updatedTime };
}

function databaseChanged(
  { branchId, databaseName }: { readonly branchId: string; readonly databaseName: string },
  { operations }: ReturnType<ControlPlaneServer["deleteDatabase"]>,
): Answered {
  const database = { name: databaseName, branch_id: branchId, owner_name: "" };
  return { json: { database, operations: operations.map(operationToWire) } };
}
