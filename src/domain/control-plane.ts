import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/** The answer to a write: the endpoint after it, and the operations that the write started (none for a no-op). */
export interface Mutation {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
}

/** What can be asked of a compute beside its settings. */
export type PowerAction = "start" | "suspend";

/** The endpoints of one project, as one list showed them. */
export interface EndpointList {
  /** Every endpoint that could be read, in no particular order. Complete, apart from those in `unreadableIds`. */
  readonly endpoints: readonly ObservedEndpoint[];
  /**
   * Ids of list entries that could not be parsed; "" for an entry without a readable id. Such an endpoint exists: it never
   * counts as absent, and with an entry "" the list proves no endpoint absent.
   */
  readonly unreadableIds: readonly string[];
  /**
   * The `Date` header of the answer: epoch milliseconds of the control plane's clock, in whole seconds. `undefined` if the
   * header is missing or cannot be read.
   */
  readonly serviceTimeMs: number | undefined;
}

/** One page of a project's operations, newest first. Without `cursor` it is the last page. */
export interface OperationPage {
  /** Every operation of the page that could be read. */
  readonly operations: readonly Operation[];
  /** Ids of operations that could not be parsed; "" for one without a readable id. They never count as absent. */
  readonly unreadableIds: readonly string[];
  readonly cursor: string | undefined;
}

/**
 * The control plane of the managed Postgres, with one credential.
 *
 * Guarantees: every call ends within its deadline; a call sends at most one request. Assumptions: no write is idempotent,
 * so a caller that meets an error with effect `Unknown` observes before it decides.
 * Errors: every method throws `ControlPlaneError`; a write that the leader fence refuses throws `LeaderFenceError`.
 */
export interface ControlPlane {
  /** Base URL without a trailing slash; it identifies the control plane in ownership records. */
  readonly serviceUrl: string;
  /** Lists the project's endpoints. */
  listEndpoints(projectId: string): Promise<EndpointList>;
  /** `undefined` only for a 404 in the documented error shape. */
  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined>;
  /** Lists one page. An answer with more than `limit` operations is refused (`UnreadableAnswer`). */
  listOperations(projectId: string, page: { readonly limit: number; readonly cursor?: string }): Promise<OperationPage>;
  /** `undefined` only for a 404 in the documented error shape (operations older than six months may be gone). */
  getOperation(projectId: string, operationId: string): Promise<Operation | undefined>;
  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation>;
  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation>;
  /** Starts or suspends the compute; for one that is in that state already the control plane does nothing. */
  changePower(projectId: string, endpointId: string, action: PowerAction): Promise<Mutation>;
  /** `undefined`: the control plane answered that there is none (404 or 204). That alone does not prove that it is gone. */
  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined>;
}
