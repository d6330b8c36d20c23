/** The port to the control plane: the endpoints, operations, roles and databases of its projects. */
import type { BranchObjects } from "./branch-objects.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/**
 * The answer to a write: the endpoint after the write, and the operations that it started (none if nothing changed).
 */
export interface Mutation {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
}

/** The two actions on a compute: start it, or suspend it. */
export type PowerAction = "start" | "suspend";

/** The endpoints of one project, as one list showed them. */
export interface EndpointList {
  /** Every endpoint that could be parsed, in no particular order. The list is complete apart from `unreadableIds`. */
  readonly endpoints: readonly ObservedEndpoint[];
  /**
   * Ids of listed endpoints that could not be parsed; "" if the id could not be read either. Such an endpoint exists
   * and never counts as absent. With an entry "", the list proves no endpoint absent.
   */
  readonly unreadableIds: readonly string[];
  /** Names of these endpoints, if the list shows a name that can be read. @default none */
  readonly unreadableNames?: readonly string[];
  /**
   * The `Date` header of the answer: epoch milliseconds of the control plane's clock, in whole seconds. `undefined`:
   * the header is missing or cannot be read.
   */
  readonly serviceTimeMs: number | undefined;
}

/** One page of a project's operations, newest first. The last page has no `cursor`. */
export interface OperationPage {
  /** Every operation of the page that could be parsed. */
  readonly operations: readonly Operation[];
  /** Ids of operations that could not be parsed; "" if the id could not be read either. They never count as absent. */
  readonly unreadableIds: readonly string[];
  readonly cursor: string | undefined;
}

/**
 * The control plane, as one API key sees it.
 *
 * Guarantees: every call ends within its deadline and sends at most one request. Assumption: no write is idempotent, so
 * a caller that gets an error with effect `Unknown` observes before it decides.
 * Errors: every method throws `ControlPlaneError`. A write that the leader fence refuses throws `LeaderFenceError`.
 */
export interface ControlPlane extends BranchObjects {
  /** Base URL without a trailing slash; it identifies the control plane in ownership records. */
  readonly serviceUrl: string;
  /** Lists the project's endpoints. */
  listEndpoints(projectId: string): Promise<EndpointList>;
  /** Reads one endpoint. @returns `undefined` only for a 404 in the documented error shape */
  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined>;
  /** Lists one page of operations. An answer with more than `limit` operations is refused (`UnreadableAnswer`). */
  listOperations(projectId: string, page: { readonly limit: number; readonly cursor?: string }): Promise<OperationPage>;
  /**
   * Reads one operation. @returns `undefined` only for a 404 in the documented error shape; operations older than six
   * months may be gone
   */
  getOperation(projectId: string, operationId: string): Promise<Operation | undefined>;
  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation>;
  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation>;
  /** Starts or suspends the compute. If it is in that state already, the control plane does nothing. */
  changePower(projectId: string, endpointId: string, action: PowerAction): Promise<Mutation>;
  /**
   * Deletes an endpoint. @returns `undefined` if the control plane answered that there is none (404 or 204); this alone
   * does not prove that the endpoint is gone
   */
  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined>;
}

/** A check before a call: it starts the call, or throws instead. */
export type CallGuard = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** The checks before the calls: one for reads, one for writes. */
export interface CallGuards {
  readonly read: CallGuard;
  readonly write: CallGuard;
}

/** Returns the same control plane with a check before every call. */
export function guardCalls(inner: ControlPlane, { read, write }: CallGuards): ControlPlane {
  return {
    serviceUrl: inner.serviceUrl,
    listEndpoints: (projectId) => read(() => inner.listEndpoints(projectId)),
    getEndpoint: (projectId, endpointId) => read(() => inner.getEndpoint(projectId, endpointId)),
    listOperations: (projectId, page) => read(() => inner.listOperations(projectId, page)),
    getOperation: (projectId, operationId) => read(() => inner.getOperation(projectId, operationId)),
    createEndpoint: (projectId, creation) => write(() => inner.createEndpoint(projectId, creation)),
    updateEndpoint: (projectId, endpointId, changes) =>
      write(() => inner.updateEndpoint(projectId, endpointId, changes)),
    changePower: (projectId, endpointId, action) => write(() => inner.changePower(projectId, endpointId, action)),
    deleteEndpoint: (projectId, endpointId) => write(() => inner.deleteEndpoint(projectId, endpointId)),
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
