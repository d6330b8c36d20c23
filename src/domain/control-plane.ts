/**
 * The port to the control plane: endpoints, operations, roles and databases; its checks, its metrics and its callers.
 */
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/**
 * The answer to a write: the endpoint after it, and the operations that the write started (none if nothing changed).
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
  /** The names of the listed endpoints that could not be parsed, as far as a name could be read. @default none */
  readonly unreadableNames?: readonly string[];
  /** The `Date` header: the control plane's clock in epoch milliseconds. `undefined`: missing or not readable. */
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
 * Guarantees: every call ends within its deadline and sends at most one request. If the caller has a request budget, a
 * call also waits for that budget, and a read whose connection broke is sent once more. Assumption: no write is
 * idempotent, so a caller that gets an error with effect `Unknown` observes before it decides.
 * Errors: every method throws `ControlPlaneError`. A write that the leader fence refuses throws `LeaderFenceError`. A
 * poll that the request budget cannot serve throws `PutOffError`.
 */
export interface ControlPlane extends BranchObjects {
  /** Base URL without a trailing slash; it identifies the control plane in ownership records. */
  readonly serviceUrl: string;
  listEndpoints(projectId: string): Promise<EndpointList>;
  /** @returns `undefined` only for a 404 in the documented error shape */
  getEndpoint(projectId: string, endpointId: string): Promise<ObservedEndpoint | undefined>;
  /** Lists one page of operations. An answer with more than `limit` operations is refused (`UnreadableAnswer`). */
  listOperations(projectId: string, page: { readonly limit: number; readonly cursor?: string }): Promise<OperationPage>;
  /** @returns `undefined` only for a 404 in the documented error shape; operations may be gone after six months */
  getOperation(projectId: string, operationId: string): Promise<Operation | undefined>;
  createEndpoint(projectId: string, creation: EndpointCreation): Promise<Mutation>;
  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Promise<Mutation>;
  /** Starts or suspends the compute. If it is in that state already, the control plane does nothing. */
  changePower(projectId: string, endpointId: string, action: PowerAction): Promise<Mutation>;
  /** @returns `undefined` for 404 or 204; this alone does not prove that the endpoint is gone */
  deleteEndpoint(projectId: string, endpointId: string): Promise<Mutation | undefined>;
}

/** A check around a call: it starts the call, or throws instead. It may also look at the result. */
export type CallGuard = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** The checks before reads and before writes. */
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

/** One request that was sent or tried, and how it ended. */
export interface ControlPlaneRequest {
  /** The path with placeholders, as `/projects/{project_id}/endpoints`: a metric label, so it never holds ids. */
  readonly route: string;
  readonly method: string;
  /** The HTTP status, if the answer could be used or was a documented refusal; else the `ControlPlaneReason`. */
  readonly code: string;
  readonly seconds: number;
}

/**
 * Why a request was slowed down or not sent.
 * `TooManyRequests`: the control plane answered 429. `HeldBack`: not sent, because the control plane had asked to wait.
 * `BudgetUsedUp`: not sent, because the operator's own request budget is used up.
 */
export type ThrottledReason = "TooManyRequests" | "HeldBack" | "BudgetUsedUp";

/** Receives every request to the control plane, for metrics. Its methods must not throw. */
export interface ControlPlaneObserver {
  requestEnded(request: ControlPlaneRequest): void;
  throttled(reason: ThrottledReason): void;
  /** Reports how long a request waited for the request budget. @param seconds 0 if the budget allowed it at once */
  budgetWaited(urgency: Urgency, seconds: number): void;
  /** A change was refused for now: the control plane answered 423, because the project is busy. */
  locked(reason: "ConflictingOperations"): void;
}

/**
 * Receives reports about control planes, for metrics. Must not throw. Each method gets the name of the control plane;
 * `settings` for the control plane of the settings.
 */
export interface PlaneObserver {
  /** A call begins: it is sent, or held back because the control plane had asked to wait. */
  callBegan(controlPlane: string): void;
  /** A request was slowed down or not sent. */
  throttledAt(controlPlane: string, reason: ThrottledReason): void;
  /** The control plane has accepted or refused the key. */
  keyJudged(controlPlane: string, isAccepted: boolean): void;
  /** The control plane is no longer used or has no key, so its metrics are removed. */
  keyForgotten(controlPlane: string): void;
}

/** `Urgent`: an edit or a deletion waits for the request. `Background`: polls and resyncs. */
export type Urgency = "Urgent" | "Background";

/**
 * The reconcile that wants to send a request; each reconcile has one such object. A reconcile that has sent a request
 * already goes before the others.
 */
export interface Caller {
  readonly urgency: Urgency;
  /** The namespace on whose behalf the request is sent. Namespaces share the budget fairly. */
  readonly namespace: string;
  readonly project: string;
}

/** A branch and its project. */
export interface BranchPath {
  readonly projectId: string;
  readonly branchId: string;
}

/** A role, as the control plane last showed it. */
export interface ObservedRole {
  readonly name: string;
  /**
   * When the role last changed, RFC 3339 of the control plane's clock. Another time means that the password may have
   * changed. Two changes within one second may show the same time.
   */
  readonly updatedTime: string;
}

/** A database, as the control plane last showed it. */
export interface ObservedDatabase {
  readonly name: string;
  readonly ownerName: string;
}

/** The answer to a change of a role. */
export interface RoleChange {
  readonly role: ObservedRole;
  /** The new password; `undefined`: the request made none. */
  readonly password: Password | undefined;
  readonly operations: readonly Operation[];
}

/** The answer to a create, change or deletion of a role or database that makes no password. */
export interface ObjectChange {
  readonly operations: readonly Operation[];
}

/**
 * Roles and databases of branches in the control plane. The name identifies an object: a second create with the same
 * name is refused.
 *
 * Guarantees and errors are those of `ControlPlane`. Reading never starts a compute.
 */
export interface BranchObjects {
  listRoles(branch: BranchPath): Promise<readonly ObservedRole[]>;
  createRole(branch: BranchPath, roleName: string): Promise<RoleChange>;
  /** @returns `undefined` if the control plane answered that there is none (404 or 204) */
  deleteRole(branch: BranchPath, roleName: string): Promise<ObjectChange | undefined>;
  /** Reads the password of a role. @returns `undefined` if the control plane does not store passwords (412) */
  revealPassword(branch: BranchPath, roleName: string): Promise<Password | undefined>;
  /** Replaces the password of a role. Open connections stay open. */
  resetPassword(branch: BranchPath, roleName: string): Promise<RoleChange>;
  listDatabases(branch: BranchPath): Promise<readonly ObservedDatabase[]>;
  createDatabase(branch: BranchPath, database: ObservedDatabase): Promise<ObjectChange>;
  /** @returns `undefined` if the control plane answered that there is none (404 or 204) */
  deleteDatabase(branch: BranchPath, databaseName: string): Promise<ObjectChange | undefined>;
}

const hidden = "[redacted]";

/**
 * A password that the operator moves from the control plane to a Secret. Everything that prints or serializes it
 * shows `[redacted]`; only `reveal` returns the text.
 */
export class Password {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Only the code that writes the Secret, or that removes the password from texts, may call this. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return hidden;
  }

  toJSON(): string {
    return hidden;
  }

  /** What Node prints for this object. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
