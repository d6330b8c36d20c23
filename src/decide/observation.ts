/** The input of a decision about one resource (`Observation`), and the result of carrying it out (`ResourceStep`). */
import type { Mutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint, ProjectSnapshot } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { ProjectClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { Plan } from "./plan.ts";
import type { PlaneProblem, ProjectGrant } from "./project-grant.ts";

export interface Policy {
  /** How long a POST without an answer may still take effect, in milliseconds. */
  readonly createSettleMs: number;
  /** The longest time between two reads of an operation in flight, in milliseconds. */
  readonly operationPollMs: number;
  /**
   * The pause before a refused request is tried again, in milliseconds. `retryDelayMs` says for which refusals. A
   * DatabaseAccess at rest is compared with the control plane again after the same time.
   */
  readonly resyncMs: number;
}

/** What this process knows about the POSTs of the present intent. If it is forgotten, a POST may be unresolved. */
export interface Posts {
  readonly attempt: string;
  /** False: each POST under the intent was refused, or never left this process, or none was sent. */
  readonly isUnresolved: boolean;
  /** When this process first reconciled the intent or last sent a POST under it, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The answer to a create that is not stored in status yet. */
export interface AnsweredCreate {
  readonly endpoint: ObservedEndpoint;
  readonly operations: readonly Operation[];
  /** The hash of the managed fields that were sent. */
  readonly hash: string;
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
 * What this process knows about one resource and status does not hold. It may be forgotten at any moment, so no
 * guarantee depends on it. Times are monotonic milliseconds.
 */
export interface ResourceMemory {
  /** Forgotten: a POST of the open intent may be unresolved, so the settle time begins again. */
  readonly posts: Posts | undefined;
  /** Forgotten: the open create is resolved from a list. */
  readonly answeredCreate: AnsweredCreate | undefined;
  /**
   * Reads and changes that were refused or not answered. Before `retryAtMs` no change is sent, unless a person asks for
   * a reconcile, spec has changed, or the cause of a 409 is gone. Forgotten: the next try and the patience begin anew.
   */
  readonly failure: FailureRow | undefined;
  /**
   * Ids of operations that answers to the operator's own calls named. Their number is limited. Forgotten: the operation
   * log names the cause.
   */
  readonly ownOperationIds: readonly string[];
}

/** What decisions need to know of one resource's operations. `reduceOperations` computes it. */
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

export interface LocalObservation {
  /** Epoch milliseconds of the operator's clock: for timestamps that people read, never for an age. */
  readonly nowMs: number;
  /** The time of this observation, in monotonic milliseconds. */
  readonly monotonicMs: number;
  readonly resource: ComputeEndpoint;
  readonly identity: Identity;
  readonly policy: Policy;
  readonly memory: ResourceMemory;
  readonly grant: ProjectGrant;
  /** Why the control plane of the resource cannot be used. @default it can be used */
  readonly planeProblem?: PlaneProblem | undefined;
}

export interface Observation extends LocalObservation {
  readonly project: ProjectSnapshot;
  readonly claims: ProjectClaims;
  readonly operations: OperationFacts;
}

export type Outcome =
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

export type ConditionSummary =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string; readonly isEndpointGone: boolean }
  /** The conditions Ready, Reconciling and Stalled stay as they are. */
  | { readonly kind: "Unchanged" };
