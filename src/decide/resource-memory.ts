import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";

/** The settings on which decisions depend. */
export interface Policy {
  /** How long a POST or DELETE without an answer may still take effect. */
  readonly createSettleMs: number;
  readonly operationPollMs: number;
  readonly resyncMs: number;
}

/**
 * What this process knows about the POSTs under one intent.
 *
 * `NoneSent`: it recorded the intent and has sent nothing. `AllRefused`: the control plane refused each POST, so none
 * took effect. `Unresolved`: a POST had an unknown outcome, or an earlier process may have sent one.
 */
export type PostState = "NoneSent" | "AllRefused" | "Unresolved";

/** What this process remembers of an open intent. Times are monotonic milliseconds. */
export interface IntentMemory {
  readonly attempt: string;
  readonly posts: PostState;
  /** When this process first read the intent, or recorded it. */
  readonly firstSeenMs: number;
  readonly lastPostMs: number | undefined;
}

/** The answer to a create that status does not hold yet. */
export interface AnsweredCreate {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
  /** Hash of the managed fields that were sent. */
  readonly hash: string;
  readonly attempt: string;
}

/** A row of equal failures of one resource. */
export interface FailureRow {
  readonly error: ControlPlaneError;
  readonly generation: number;
  /** Monotonic milliseconds of the first failure of the row. */
  readonly sinceMs: number;
  readonly count: number;
  /** Monotonic milliseconds of the next try. */
  readonly retryAtMs: number;
  /** Whether a change was refused. Then the operator sends no change before `retryAtMs`. */
  readonly isOfChange: boolean;
}

/**
 * What this process knows of one resource and status does not hold. A restart loses all of it, so no promise may depend
 * on a member being present. Times are monotonic milliseconds.
 */
export interface ResourceMemory {
  readonly firstSeenMs: number;
  /** Whether the resource was already being deleted then: an earlier process may have sent a DELETE. */
  readonly wasDeletingAtFirst: boolean;
  readonly intent: IntentMemory | undefined;
  readonly answeredCreate: AnsweredCreate | undefined;
  readonly failure: FailureRow | undefined;
  /** Operations that the answers to our own calls named; bounded. */
  readonly ownOperationIds: readonly string[];
  /** The endpoint's version in our last answer. A read that shows an older one may lag. */
  readonly lastAnswer: { readonly endpointId: string; readonly updatedTime: string; readonly atMs: number } | undefined;
  /** The endpoint that the last look proved to be gone; a look that finds it again removes this. */
  readonly goneEndpointId: string | undefined;
  readonly lastDelete: { readonly atMs: number; readonly isAnswered: boolean } | undefined;
  /** When the control plane last accepted a request under `status.acknowledged`. */
  readonly acknowledgedAtMs: number | undefined;
}
