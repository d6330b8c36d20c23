/** The methods of `ControlPlane`: each one makes a request and hands it to `call`. */
import { z } from "zod";
import type { BranchPath, ControlPlane, Mutation, ObjectChange, RoleChange } from "../domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneSubject } from "../domain/control-plane-error.ts";
import type { Call, Request } from "./call.ts";
import type { ListReport } from "./unreadable-objects.ts";
import {
  changesToWire,
  creationToWire,
  endpointFromWire,
  expectEach,
  operationFromWire,
  operationsFromWire,
  presentText,
  readEach,
  readEntries,
  readValue,
  roleFromWire,
  UnusableContentError,
  wireDatabase,
  wireDatabaseChange,
  wireDatabaseList,
  wireEndpoint,
  wireEndpointList,
  wireMutation,
  wireOperation,
  wireOperationList,
  wirePassword,
  wireRole,
  wireRoleChange,
  wireRoleList,
} from "./wire.ts";

type Path = Pick<Request<unknown>, "template" | "ids" | "subject">;

const branch = "/projects/{project_id}/branches/{branch_id}";

/** Every path that the operator uses, with the kind of object that a 404 there is about. @see docs/sandbox.md */
const paths = {
  endpoints: (projectId: string) => path("Project", "/projects/{project_id}/endpoints", [projectId]),
  endpoint: (...ids: [projectId: string, endpointId: string]) =>
    path("Endpoint", "/projects/{project_id}/endpoints/{endpoint_id}", ids),
  operations: (projectId: string) => path("Project", "/projects/{project_id}/operations", [projectId]),
  operation: (...ids: [projectId: string, operationId: string]) =>
    path("Operation", "/projects/{project_id}/operations/{operation_id}", ids),
  roles: ({ projectId, branchId }: BranchPath) => path("Branch", `${branch}/roles`, [projectId, branchId]),
  role: ({ projectId, branchId }: BranchPath, name: string) =>
    path("Role", `${branch}/roles/{role_name}`, [projectId, branchId, name]),
  databases: ({ projectId, branchId }: BranchPath) => path("Branch", `${branch}/databases`, [projectId, branchId]),
  database: ({ projectId, branchId }: BranchPath, name: string) =>
    path("Database", `${branch}/databases/{database_name}`, [projectId, branchId, name]),
};

function path(subject: Path["subject"], template: string, ids: readonly string[]): Path {
  return { subject, template, ids };
}

function below(parent: Path, action: string): Path {
  return { ...parent, template: `${parent.template}/${action}` };
}

function to(method: Request<unknown>["method"], place: Path, purpose: string) {
  return { method, purpose, ...place };
}

interface TypedCallsOptions {
  readonly serviceUrl: string;
  readonly call: Call;
  readonly onListed?: ListReport | undefined;
}

export function controlPlaneOf({ serviceUrl, call, onListed = () => {} }: TypedCallsOptions): ControlPlane {
  return { serviceUrl, ...endpointCalls(call, onListed), ...operationCalls(call, onListed), ...objectCalls(call) };
}

function endpointCalls(call: Call, onListed: ListReport) {
  return {
    listEndpoints: (projectId) =>
      call({
        ...to("GET", paths.endpoints(projectId), "list the project's endpoints"),
        read(json) {
          const { entries, unreadableIds } = readEntries(readValue(json, wireEndpointList).endpoints, wireEndpoint);
          expectEach(entries, "project_id", projectId, "an endpoint of another project");
          onListed(projectId, "endpoints", unreadableIds);
          return { endpoints: entries.map(endpointFromWire), unreadableIds };
        },
      }),
    getEndpoint: (projectId, endpointId) =>
      undefinedIfAbsent(
        call({
          ...to("GET", paths.endpoint(projectId, endpointId), "read the endpoint"),
          read(json) {
            const { endpoint } = readValue(json, z.object({ endpoint: wireEndpoint }));
            expectEach([endpoint], "id", endpointId, "another endpoint");
            return endpointFromWire(endpoint);
          },
        }),
        "Project",
      ),
    createEndpoint: (projectId, creation) =>
      call({
        ...to("POST", paths.endpoints(projectId), "create the endpoint"),
        body: creationToWire(creation),
        read: mutationOf("project_id", projectId, "an endpoint of another project"),
      }),
    updateEndpoint: (projectId, endpointId, changes) =>
      call({
        ...to("PATCH", paths.endpoint(projectId, endpointId), "update the endpoint"),
        body: changesToWire(changes),
        read: mutationOf("id", endpointId, "another endpoint"),
      }),
    changePower: (projectId, endpointId, action) =>
      call({
        ...to("POST", below(paths.endpoint(projectId, endpointId), action), `${action} the compute`),
        read: mutationOf("id", endpointId, "another endpoint"),
      }),
    deleteEndpoint: (projectId, endpointId) =>
      undefinedIfAbsent(
        call({
          ...to("DELETE", paths.endpoint(projectId, endpointId), "delete the endpoint"),
          read: orNothing(mutationOf("id", endpointId, "another endpoint")),
        }),
        "Project",
      ),
  } satisfies Partial<ControlPlane>;
}

function operationCalls(call: Call, onListed: ListReport) {
  return {
    listOperations: (projectId, { limit, cursor }) =>
      call({
        ...to("GET", paths.operations(projectId), "list the project's operations"),
        query: { limit: String(limit), ...(cursor !== undefined && { cursor }) },
        read(json, { clean }) {
          const { operations, pagination } = readValue(json, wireOperationList);
          if (operations.length > limit) {
            throw new UnusableContentError("more operations than it was asked for");
          }
          const { entries, unreadableIds } = readEntries(operations, wireOperation);
          expectEach(entries, "project_id", projectId, "an operation of another project");
          // Only the newest page is reported: the operations on older pages were reported before.
          if (cursor === undefined) onListed(projectId, "operations", unreadableIds);
          // An empty page is the last one, whatever cursor it has.
          const next = operations.length === 0 ? undefined : presentText(pagination?.cursor);
          return { operations: entries.map((each) => operationFromWire(each, clean)), unreadableIds, cursor: next };
        },
      }),
    getOperation: (projectId, operationId) =>
      undefinedIfAbsent(
        call({
          ...to("GET", paths.operation(projectId, operationId), "read the operation"),
          read(json, { clean }) {
            const { operation } = readValue(json, z.object({ operation: wireOperation }));
            expectEach([operation], "id", operationId, "another operation");
            return operationFromWire(operation, clean);
          },
        }),
        "Project",
      ),
  } satisfies Partial<ControlPlane>;
}

function objectCalls(call: Call) {
  return {
    listRoles: (place) =>
      call({
        ...to("GET", paths.roles(place), "list the branch's roles"),
        read(json) {
          const roles = readEach(readValue(json, wireRoleList).roles, wireRole);
          expectEach(roles, "branch_id", place.branchId, "objects of another branch");
          return roles.map(roleFromWire);
        },
      }),
    createRole: (place, name) =>
      call({
        ...to("POST", paths.roles(place), "create the role"),
        body: { role: { name } },
        read: roleChangeOf(name),
      }),
    deleteRole: (place, name) =>
      undefinedIfAbsent(
        call({
          ...to("DELETE", paths.role(place, name), "delete the role"),
          read: orNothing(roleChangeOf(name)),
        }),
        "Project",
        "Branch",
      ),
    revealPassword: (place, name) =>
      call({
        ...to("GET", below(paths.role(place, name), "reveal_password"), "read the role's password"),
        read: (json, { password }) => password(readValue(json, wirePassword).password),
      }).catch((error: unknown) => {
        if (error instanceof ControlPlaneError && error.reason === "PreconditionFailed") return undefined;
        throw error;
      }),
    resetPassword: (place, name) =>
      call({
        ...to("POST", below(paths.role(place, name), "reset_password"), "reset the role's password"),
        read: roleChangeOf(name),
      }),
    listDatabases: (place) =>
      call({
        ...to("GET", paths.databases(place), "list the branch's databases"),
        read(json) {
          const databases = readEach(readValue(json, wireDatabaseList).databases, wireDatabase);
          expectEach(databases, "branch_id", place.branchId, "objects of another branch");
          return databases.map((wire) => ({ name: wire.name, ownerName: wire.owner_name }));
        },
      }),
    createDatabase: (place, { name, ownerName }) =>
      call({
        ...to("POST", paths.databases(place), "create the database"),
        body: { database: { name, owner_name: ownerName } },
        read: databaseChangeOf(name),
      }),
    deleteDatabase: (place, name) =>
      undefinedIfAbsent(
        call({
          ...to("DELETE", paths.database(place, name), "delete the database"),
          read: orNothing(databaseChangeOf(name)),
        }),
        "Project",
        "Branch",
      ),
  } satisfies Partial<ControlPlane>;
}

type Read<Value> = Request<Value>["read"];

/** The answer must show the endpoint of the request: this field has this value. */
function mutationOf(field: "id" | "project_id", value: string, otherwise: string): Read<Mutation> {
  return (json, { clean }) => {
    const { endpoint, operations } = readValue(json, wireMutation);
    expectEach([endpoint], field, value, otherwise);
    return { endpoint: endpointFromWire(endpoint), operations: operationsFromWire(operations, clean) };
  };
}

/** The answer must show the role of the request. It may hold a new password. */
function roleChangeOf(name: string): Read<RoleChange> {
  return (json, { clean, password }) => {
    const { role, operations } = readValue(json, wireRoleChange);
    expectEach([role], "name", name, "another role");
    return {
      role: roleFromWire(role),
      password: typeof role.password === "string" ? password(role.password) : undefined,
      operations: operationsFromWire(operations, clean),
    };
  };
}

function databaseChangeOf(name: string): Read<ObjectChange> {
  return (json, { clean }) => {
    const { database, operations } = readValue(json, wireDatabaseChange);
    expectEach([database], "name", name, "another database");
    return { operations: operationsFromWire(operations, clean) };
  };
}

/** A deletion that is answered with 204 found no object. */
function orNothing<Value>(read: Read<Value>): Read<Value | undefined> {
  return (json, texts) => (json === undefined ? undefined : read(json, texts));
}

/** A 404 about a container of the object is thrown, because the object may still exist. */
async function undefinedIfAbsent<Value>(
  found: Promise<Value>,
  ...containers: readonly ControlPlaneSubject[]
): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    const isNotFound = error instanceof ControlPlaneError && error.reason === "NotFound";
    if (isNotFound && !containers.some((container) => container === error.subject)) {
      return undefined;
    }
    throw error;
  }
}
