/** What this process remembers of one resource, and the settings on which decisions depend. */
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";

/** The settings on which decisions depend. */
export interface Policy {
  /** How long a POST or DELETE without an answer may still take effect, in milliseconds. */
  readonly createSettleMs: number;
  readonly operationPollMs: number;
  readonly resyncMs: number;
}

/**
 * What this process knows about the POSTs of one intent.
 * `NoneSent`: this process stored the intent and sent nothing. `AllRefused`: each POST was refused or never left this
 * process, so none took effect. `Unresolved`: the result of a POST is unknown, or an earlier process may have sent one.
 */
export type PostState = "NoneSent" | "AllRefused" | "Unresolved";

/** What this process remembers of an open intent. Times are monotonic milliseconds. */
export interface IntentMemory {
  readonly attempt: string;
  readonly posts: PostState;
  /** When this process first read or stored the intent. */
  readonly firstSeenMs: number;
  readonly lastPostMs: number | undefined;
}

/** The answer to a create that is not stored in status yet. */
export interface AnsweredCreate {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
  /** The hash of the managed fields that were sent. */
  readonly hash: string;
  readonly attempt: string;
}

/** A series of equal failures of the calls for one resource or project, without a success between them. */
export interface FailureRow {
  readonly error: ControlPlaneError;
  /** The generation of spec; 0 for a project. */
  readonly generation: number;
  /** When the first failure of the series happened, in monotonic milliseconds. */
  readonly sinceMs: number;
  readonly count: number;
  /** When the next try is due, in monotonic milliseconds. */
  readonly retryAtMs: number;
}

/**
 * What this process knows about one resource and status does not hold. A restart loses all of it, so no guarantee may
 * depend on it. Times are monotonic milliseconds.
 */
export interface ResourceMemory {
  readonly firstSeenMs: number;
  /**
   * Whether the resource was already being deleted when this process first saw it. If so, an earlier process may have
   * sent a DELETE.
   */
  readonly wasDeletingAtFirst: boolean;
  readonly intent: IntentMemory | undefined;
  readonly answeredCreate: AnsweredCreate | undefined;
  /** Refused or lost changes. Before `retryAtMs` the operator sends a change only for a reason in `heldBack`. */
  readonly failure: FailureRow | undefined;
  /** Ids of operations that answers to the operator's own calls named. Their number is limited. */
  readonly ownOperationIds: readonly string[];
  /** The endpoint's version in our last answer. A read that shows an older version may be out of date. */
  readonly lastAnswer: { readonly endpointId: string; readonly updatedTime: string; readonly atMs: number } | undefined;
  /** The id of the endpoint that a read proved to be gone; `undefined`: no read did, or a later one showed it. */
  readonly goneEndpointId: string | undefined;
  readonly lastDelete: { readonly atMs: number; readonly isAnswered: boolean } | undefined;
  /** When the control plane last accepted a request that `status.acknowledged` records. */
  readonly acknowledgedAtMs: number | undefined;
}
