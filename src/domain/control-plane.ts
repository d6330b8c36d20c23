import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/** What a write answered: the endpoint as it now is, and the operations the write started (none for a no-op). */
export interface Mutation {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
}

/** One page of a project's operations, newest first. No `cursor`: this was the last page. */
export interface OperationPage {
  readonly operations: readonly Operation[];
  readonly cursor: string | undefined;
}

/**
 * The managed-Postgres service, one credential of it.
 *
 * Guarantees: every call ends within its deadline; a write is sent at most once and never repeated by the port; reads
 * may be repeated. Assumptions: none of the writes is idempotent, so a caller that meets an error with effect
 * `Unknown` observes before it decides.
 * Errors: every method throws `ControlPlaneError`, and nothing else.
 */
export interface ControlPlane {
  /** Base URL without a trailing slash; the service's identity in ownership records. */
  readonly serviceUrl: string;
  /** The project's endpoints, complete, in no particular order. */
  listEndpoints(projectId: string): Promise<readonly ObservedEndpoint[]>;
  /** `undefined` only for a 404 in the documented error shape. */
  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined>;
  listOperations(projectId: string, page: { readonly limit: number; readonly cursor?: string }): Promise<OperationPage>;
  /** `undefined` only for a 404 in the documented error shape (operations older than six months may be gone). */
  getOperation(projectId: string, operationId: string): Promise<Operation | undefined>;
  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation>;
  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation>;
  /** `undefined`: the service said that there was none (404 or 204). That alone is no proof that it is gone. */
  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined>;
}
