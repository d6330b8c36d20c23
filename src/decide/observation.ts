/** The input of a decision about one resource (`Observation`), and the result of carrying it out (`ResourceStep`). */

import type { Mutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint, ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { PostState, ProjectClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { Plan } from "./plan.ts";
import type { PlaneProblem, ProjectGrant } from "./project-grant.ts";

/** The settings on which decisions depend. */
export interface Policy {
  /** How long a POST or DELETE without an answer may still take effect, in milliseconds. */
  readonly createSettleMs: number;
  /** The longest time between two reads of an operation in flight, in milliseconds. */
  readonly operationPollMs: number;
  /**
   * The pause before a refused request is tried again, in milliseconds. `retryDelayMs` says for which refusals. A
   * DatabaseAccess at rest is compared with the control plane again after the same time.
   */
  readonly resyncMs: number;
}

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
   * Whether a DELETE may have been sent before this process first saw the resource, or before its control plane got
   * another URL.
   */
  readonly mayHaveSentDelete: boolean;
  /**
   * Since when the resource was Stalled when this process first saw it; `undefined`: it was not Stalled. While status
   * shows the same time, it is Stalled since before this process saw it.
   */
  readonly stalledSinceAtFirst: string | undefined;
  readonly intent: IntentMemory | undefined;
  readonly answeredCreate: AnsweredCreate | undefined;
  /**
   * Changes that were refused or not answered. Before `retryAtMs` no change is sent, unless a person asks for a
   * reconcile, spec has changed, or the cause of a 409 is gone.
   */
  readonly failure: FailureRow | undefined;
  /** Ids of operations that answers to the operator's own calls named. Their number is limited. */
  readonly ownOperationIds: readonly string[];
  /** The `updated_at` of the endpoint in our last answer. A read that shows an older time may be out of date. */
  readonly lastAnswer: { readonly endpointId: string; readonly updatedTime: string; readonly atMs: number } | undefined;
  /**
   * The id of the endpoint that a read proved to be gone. `undefined`: no read proved that, or a later read showed the
   * endpoint.
   */
  readonly goneEndpointId: string | undefined;
  /**
   * Since when reads contradict each other about the endpoint: a read by id was answered 404, and the list does not
   * prove that the endpoint is gone. `undefined`: the reads agree, or none was answered 404.
   */
  readonly contradictedSinceMs: number | undefined;
  readonly lastDelete: { readonly atMs: number; readonly isAnswered: boolean } | undefined;
  /** When this process first got an answer to a DELETE of the endpoint; `undefined`: it got none. */
  readonly deleteAnswered: { readonly endpointId: string; readonly atMs: number } | undefined;
  /** When the control plane last accepted a request that `status.acknowledged` records. */
  readonly acknowledgedAtMs: number | undefined;
}

/**
 * The facts about one resource's operations that decisions need. `reduceOperations` computes them from the operation
 * log.
 */
export interface OperationFacts {
  /** Operations that the operator's own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /**
   * How long this process has seen the operations in `ownInFlight` lock the project, in milliseconds; 0 if there are
   * none. It includes earlier operations that they followed without a pause.
   */
  readonly inFlightForMs: number;
  /** Ids of failed operations that status or this snapshot shows. */
  readonly failedIds: ReadonlySet<string>;
}

/** Everything about a resource that the operator knows without a call to the control plane. */
export interface LocalObservation {
  /**
   * The time of the operator's clock, in epoch milliseconds. It is for timestamps that people read, never for an age.
   */
  readonly nowMs: number;
  /** The time of this observation, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly resource: ComputeEndpoint;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly memory: ResourceMemory;
  /** What the resource's namespace may do in the resource's project. */
  readonly grant: ProjectGrant;
  /** Why the control plane of the resource cannot be used. @default it can be used */
  readonly planeProblem?: PlaneProblem | undefined;
}

/** Everything that one decision depends on. */
export interface Observation extends LocalObservation {
  readonly project: ProjectSnapshot;
  /** The claims of all resources of the project. */
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}

/** The result of carrying out a plan. */
export type Outcome =
  /** Nothing had to be sent to the control plane. */
  | { readonly kind: "NothingSent" }
  /** The control plane accepted a change. `answer` is `undefined` if a DELETE found nothing to delete. */
  | { readonly kind: "Accepted"; readonly answer: Mutation | undefined }
  /** The change was not sent, because another change of the project comes first or still runs. This is no failure. */
  | {
      readonly kind: "Deferred";
      /** Milliseconds since this resource first asked for its change. */
      readonly waitedMs: number;
      /** The part of `waitedMs` since the control plane last accepted a change of the project. */
      readonly stillMs: number;
    }
  /** A read or a change failed, or an earlier failure still holds the change back. */
  | {
      readonly kind: "Failed";
      readonly error: ControlPlaneError;
      /** Milliseconds since the first of these equal failures. */
      readonly forMs: number;
      /** The operation that locks the project; `undefined`: the operation log does not show it. */
      readonly lockHolder: Operation | undefined;
    };

/** The result of one reconcile for one resource. Its status, events and log line are computed from it. */
export interface ResourceStep {
  readonly local: LocalObservation;
  /** What the decision was made from. `undefined`: no snapshot was needed, or none could be read. */
  readonly observation: Observation | undefined;
  /** The chosen plan. `undefined`: no snapshot could be read, so nothing was decided. */
  readonly plan: Plan | undefined;
  readonly outcome: Outcome;
  /**
   * True: the same reconcile reads the control plane next, so a requested reconcile is not handled yet. @default false
   */
  readonly isLookPending?: boolean;
}

/** The condition summary of one reconcile for one resource: what the conditions will say. */
export type ConditionSummary =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string; readonly isEndpointGone: boolean }
  /** The conditions Ready, Reconciling and Stalled stay as they are. */
  | { readonly kind: "Unchanged" };
