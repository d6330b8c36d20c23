import type { BranchCalls, BranchPath } from "./branch.ts";
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "./endpoint.ts";
import type { Operation } from "./operation.ts";

/** `operations`: those that the write started; none if nothing changed. */
export interface Mutation {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
}

export type PowerAction = "start" | "suspend";

export interface EndpointList {
  /** Every endpoint that could be parsed, in no particular order. The list is complete apart from `unreadableIds`. */
  readonly endpoints: readonly ObservedEndpoint[];
  /** "" if the id could not be read either. Such an endpoint exists and never counts as absent. */
  readonly unreadableIds: readonly string[];
}

/** One page of a project's operations, newest first. The last page has no `cursor`. */
export interface OperationPage {
  readonly operations: readonly Operation[];
  /** Ids of operations that could not be parsed; "" if the id could not be read either. They never count as absent. */
  readonly unreadableIds: readonly string[];
  readonly cursor: string | undefined;
}

/**
 * Every call ends within its deadline and sends at most one request. With a request budget it waits for that budget.
 * No write is idempotent: after effect `Unknown` the caller observes.
 * @throws ControlPlaneError; LeaderFenceError for a write; PutOffError for a poll that the budget cannot serve
 */
export interface ControlPlane extends BranchObjects, BranchCalls {
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

export interface ControlPlaneRequest {
  /** The path with placeholders, as `/projects/{project_id}/endpoints`: a metric label, so it never holds ids. */
  readonly route: string;
  readonly method: string;
  /** The HTTP status, if the answer could be used or was a documented refusal; else the `ControlPlaneReason`. */
  readonly code: string;
  readonly seconds: number;
}

/** `HeldBack`: the control plane had asked to wait. `BudgetUsedUp`: the operator's own request budget is used up. */
export type ThrottledReason = "TooManyRequests" | "HeldBack" | "BudgetUsedUp";

/** Of one connection to a control plane, since it was made. */
export interface CallCounts {
  readonly calls: number;
  readonly throttled: Readonly<Record<ThrottledReason, number>>;
}

/** Receives what happens at one control plane, for metrics. Its methods must not throw. */
export interface ControlPlaneObserver {
  /** A call begins: it is sent, or held back because the control plane had asked to wait. */
  callBegan(): void;
  requestEnded(request: ControlPlaneRequest): void;
  throttled(reason: ThrottledReason): void;
  budgetWaited(urgency: Urgency, seconds: number): void;
  /** A change was refused for now: the control plane answered 423, because the project is busy. */
  locked(reason: "ConflictingOperations"): void;
}

/** What is not counted for each connection. */
export type ControlPlaneMetrics = Omit<ControlPlaneObserver, "callBegan" | "throttled">;

/** `Urgent`: a person waits for the result, for instance of an edit. `Background`: polls, retries and resyncs. */
export type Urgency = "Urgent" | "Background";

/** The reconcile that wants to send a request; each reconcile has one such object. */
export interface Caller {
  /** An edit during a poll makes the poll urgent. */
  urgency: Urgency;
  readonly project: string;
}

export interface DatabaseSettings {
  readonly port: number;
  /** The value of libpq's `sslmode`, for instance `require` or `verify-full`. */
  readonly sslMode: string;
  /** The certificate authority as PEM; `undefined`: clients use the public authorities. */
  readonly certificateAuthority: string | undefined;
}

export interface ObservedRole {
  readonly name: string;
  /** RFC 3339 of the control plane's clock. Another time means that the password may have changed. */
  readonly updatedTime: string;
}

export interface ObservedDatabase {
  readonly name: string;
  readonly ownerName: string;
}

export interface RoleChange {
  readonly role: ObservedRole;
  readonly password: Password | undefined;
  readonly operations: readonly Operation[];
}

export interface ObjectChange {
  readonly operations: readonly Operation[];
}

/** The name identifies an object: a second create with it is refused. Reading never starts a compute. */
export interface BranchObjects {
  /** Unit-seconds of the present month, as the control plane counts them. @returns `undefined` if it shows none */
  branchUnitSeconds(branch: BranchPath): Promise<number | undefined>;
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
  deleteDatabase(branch: BranchPath, databaseName: string): Promise<ObjectChange | undefined>;
}

const hidden = "[redacted]";

/** Everything that prints or serializes it shows `[redacted]`; only `reveal` returns the text. */
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

  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return hidden;
  }
}
