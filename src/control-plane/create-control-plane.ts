import { z } from "zod";
import {
  type BranchObjects,
  type BranchPath,
  type ControlPlane,
  type Mutation,
  type ObjectChange,
  Password,
  type RoleChange,
} from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { LeaderFence } from "../domain/leader-fence.ts";
import { RecentSecrets } from "../domain/without-secrets.ts";
import { HttpTransport } from "../http/transport.ts";
import {
  type Call,
  createHttpCaller,
  type HttpCaller,
  type HttpCallerOptions,
  sendDeletion,
  undefinedIfAbsent,
} from "./http-caller.ts";
import { parseServiceUrl, type Route, routes } from "./routes.ts";
import type { ListReport } from "./unreadable-objects.ts";
import {
  changesToWire,
  creationToWire,
  endpointFromWire,
  expectEach,
  mutationFromWire,
  operationFromWire,
  operationsFromWire,
  presentText,
  readAnswer,
  readEach,
  readEntries,
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

export interface ControlPlaneClientOptions
  extends Pick<HttpCallerOptions, "keys" | "clock" | "observer" | "userAgent" | "tracer"> {
  readonly baseUrl: string;
  readonly onListed?: ListReport;
  readonly readTimeoutMs?: number;
  /** The lease must last at least as long. @default 8000 */
  readonly writeTimeoutMs?: number;
  readonly maxResponseBytes?: number;
  /** For reads. A read without an answer keeps its connection, and must not delay the others. @default 256 */
  readonly connections?: number;
  readonly mayBeNearby?: boolean | undefined;
  /** The leader fence. The client asks it right before it sends a write. @default every write is allowed */
  readonly fence?: LeaderFence;
}

/** An endpoint has about 30 values. All tenants share one process, and a value costs up to a hundred bytes. */
const maxResponseValues = 250_000;

/** The client of a control plane. The caller must close it. */
export interface ControlPlaneClient extends ControlPlane {
  /** Returns the same client, whose calls use the key of another source. */
  withKeys(keys: HttpCallerOptions["keys"]): ControlPlane;
  /** Closes the kept connections. Reads in progress fail. */
  close(): Promise<void>;
}

/** @throws Error when the base URL is not valid; the message describes a valid one */
export function createControlPlane(options: ControlPlaneClientOptions): ControlPlaneClient {
  const serviceUrl = parseServiceUrl(options.baseUrl);
  const { origin, pathname } = new URL(serviceUrl);
  const { clock, mayBeNearby, fence, onListed = () => {} } = options;
  const { maxResponseBytes = 16 * 1024 * 1024, connections = 256 } = options;
  const limits = { connectTimeoutMs: 5_000, maxResponseBytes, maxResponseValues, connections };
  const transport = new HttpTransport({ origin, clock, mayBeNearby, fence, ...limits });
  const { readTimeoutMs = 10_000, writeTimeoutMs = 8_000 } = options;
  const passwords = new RecentSecrets();
  const common = { ...options, transport, passwords, basePath: pathname, readTimeoutMs, writeTimeoutMs };
  const withKeys: ControlPlaneClient["withKeys"] = (keys) => {
    const call = createHttpCaller({ ...common, keys });
    return { serviceUrl, ...httpProjects(call, onListed), ...httpBranchObjects(call) };
  };
  return { ...withKeys(options.keys), withKeys, close: () => transport.close() };
}

/** A 404 about a container of an object does not prove that the object is absent. */
const aroundEndpoint = ["Project"] as const;
const aroundRole = ["Project", "Branch"] as const;

function httpProjects(call: HttpCaller, onListed: ListReport): Omit<ControlPlane, "serviceUrl" | keyof BranchObjects> {
  return {
    listEndpoints: (projectId) =>
      call({
        ...{ route: routes.listEndpoints, ids: [projectId] },
        read({ body }) {
          const { endpoints } = readAnswer(body, wireEndpointList);
          const { entries, unreadableIds } = readEntries(endpoints, wireEndpoint);
          expectEach(entries, "project_id", projectId, "an endpoint of another project");
          onListed(projectId, "endpoints", unreadableIds);
          return { endpoints: entries.map(endpointFromWire), unreadableIds };
        },
      }),
    getEndpoint: (projectId, endpointId) =>
      undefinedIfAbsent(
        call({
          ...{ route: routes.getEndpoint, ids: [projectId, endpointId] },
          read({ body }) {
            const { endpoint } = readAnswer(body, z.object({ endpoint: wireEndpoint }));
            expectEach([endpoint], "id", endpointId, "another endpoint");
            return endpointFromWire(endpoint);
          },
        }),
        aroundEndpoint,
      ),
    listOperations: (projectId, { limit, cursor }) =>
      call({
        ...{ route: routes.listOperations, ids: [projectId] },
        query: new URLSearchParams({ limit: String(limit), ...(cursor !== undefined && { cursor }) }).toString(),
        read({ body }, clean) {
          const { operations, pagination } = readAnswer(body, wireOperationList);
          if (operations.length > limit) {
            throw new UnusableContentError("more operations than it was asked for");
          }
          const { entries, unreadableIds } = readEntries(operations, wireOperation);
          expectEach(entries, "project_id", projectId, "an operation of another project");
          // Only the newest page is reported: the operations on older pages were reported before.
          if (cursor === undefined) onListed(projectId, "operations", unreadableIds);
          // An empty page is the last one, whatever cursor it has.
          const next = operations.length === 0 ? undefined : presentText(pagination?.cursor);
          return { operations: operationsFromWire(entries, clean), unreadableIds, cursor: next };
        },
      }),
    getOperation: (projectId, operationId) =>
      undefinedIfAbsent(
        call({
          ...{ route: routes.getOperation, ids: [projectId, operationId] },
          read({ body }, clean) {
            const { operation } = readAnswer(body, z.object({ operation: wireOperation }));
            expectEach([operation], "id", operationId, "another operation");
            return operationFromWire(operation, clean);
          },
        }),
        aroundEndpoint,
      ),
    createEndpoint: (projectId, creation) =>
      call(writing(routes.createEndpoint, projectId, undefined, creationToWire(creation))),
    updateEndpoint: (projectId, endpointId, changes) =>
      call(writing(routes.updateEndpoint, projectId, endpointId, changesToWire(changes))),
    changePower: (projectId, endpointId, action) => call(writing(routes[`${action}Endpoint`], projectId, endpointId)),
    deleteEndpoint: (projectId, endpointId) =>
      sendDeletion(call, writing(routes.deleteEndpoint, projectId, endpointId), aroundEndpoint),
  };
}

/** The answer must show this endpoint; the answer to a create, an endpoint of the project. */
function writing(route: Route, projectId: string, endpointId?: string, body?: object): Call<Mutation> {
  return {
    ...{ route, ids: endpointId === undefined ? [projectId] : [projectId, endpointId], body },
    read(answer, clean) {
      const mutation = readAnswer(answer.body, wireMutation);
      if (endpointId === undefined) {
        expectEach([mutation.endpoint], "project_id", projectId, "an endpoint of another project");
      } else {
        expectEach([mutation.endpoint], "id", endpointId, "another endpoint");
      }
      return mutationFromWire(mutation, clean);
    },
  };
}

function httpBranchObjects(call: HttpCaller): BranchObjects {
  const ids = ({ projectId, branchId }: BranchPath, ...more: string[]) => [projectId, branchId, ...more];
  /** A write to a role, whose answer must show that role. The answer may hold a new password. */
  const roleChange = (route: Route, path: readonly string[], name: string, body?: object): Call<RoleChange> => ({
    ...{ route, ids: path, body },
    passwordIn: ({ password }) => password?.reveal(),
    read(answer, clean) {
      const { role, operations } = readAnswer(answer.body, wireRoleChange);
      expectEach([role], "name", name, "another role");
      const password = typeof role.password === "string" ? new Password(role.password) : undefined;
      return { role: roleFromWire(role), password, operations: operationsFromWire(operations, clean) };
    },
  });
  const databaseChange = (route: Route, path: readonly string[], name: string, body?: object): Call<ObjectChange> => ({
    ...{ route, ids: path, body },
    read(answer, clean) {
      const { database, operations } = readAnswer(answer.body, wireDatabaseChange);
      expectEach([database], "name", name, "another database");
      return { operations: operationsFromWire(operations, clean) };
    },
  });
  return {
    listRoles: (branch) =>
      call({
        ...{ route: routes.listRoles, ids: ids(branch) },
        read({ body }) {
          const roles = readEach(readAnswer(body, wireRoleList).roles, wireRole);
          expectEach(roles, "branch_id", branch.branchId, "objects of another branch");
          return roles.map(roleFromWire);
        },
      }),
    createRole: (branch, name) => call(roleChange(routes.createRole, ids(branch), name, { role: { name } })),
    deleteRole: (branch, name) =>
      sendDeletion(call, roleChange(routes.deleteRole, ids(branch, name), name), aroundRole),
    revealPassword: (branch, name) =>
      call({
        ...{ route: routes.revealPassword, ids: ids(branch, name) },
        passwordIn: (password: Password) => password.reveal(),
        read: ({ body }) => new Password(readAnswer(body, wirePassword).password),
      }).catch((error: unknown) => {
        if (error instanceof ControlPlaneError && error.reason === "PreconditionFailed") return undefined;
        throw error;
      }),
    resetPassword: (branch, name) => call(roleChange(routes.resetPassword, ids(branch, name), name)),
    listDatabases: (branch) =>
      call({
        ...{ route: routes.listDatabases, ids: ids(branch) },
        read({ body }) {
          const databases = readEach(readAnswer(body, wireDatabaseList).databases, wireDatabase);
          expectEach(databases, "branch_id", branch.branchId, "objects of another branch");
          return databases.map((wire) => ({ name: wire.name, ownerName: wire.owner_name }));
        },
      }),
    createDatabase: (branch, { name, ownerName }) =>
      call(databaseChange(routes.createDatabase, ids(branch), name, { database: { name, owner_name: ownerName } })),
    deleteDatabase: (branch, name) =>
      sendDeletion(call, databaseChange(routes.deleteDatabase, ids(branch, name), name), aroundRole),
  };
}
