/** One step of one resource: what it is decided from, how it ended, and what it means for the conditions. */

import type { Mutation as AnsweredMutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import type { ProgressReason, StallReason } from "../resource/conditions.ts";
import type { ProjectClaims } from "./claims.ts";
import type { Identity } from "./identity.ts";
import type { Plan } from "./plan.ts";
import type { PlaneProblem, ProjectGrant } from "./project-grant.ts";
import type { Policy, ResourceMemory } from "./resource-memory.ts";

/**
 * The facts about one resource's operations that decisions need. `reduceOperations` computes them from the operation
 * log.
 */
export interface OperationFacts {
  /** Operations that the operator's own calls started and that have not ended. */
  readonly ownInFlight: readonly Operation[];
  /** How long this process has seen the project locked until `ownInFlight` ends, in milliseconds; 0 if it is empty. */
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

/** How a plan ended. */
export type Outcome =
  /** Nothing had to be sent to the control plane. */
  | { readonly kind: "NothingSent" }
  /** The control plane accepted a change. `answer` is `undefined` if a DELETE found nothing to delete. */
  | { readonly kind: "Accepted"; readonly answer: AnsweredMutation | undefined }
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
      /** The operation that locks the project, if the log shows it. */
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

/** The condition summary of one step. `conditionsFor` computes the conditions from it. */
export type ConditionSummary =
  | { readonly kind: "Ready"; readonly message: string }
  | { readonly kind: "Progressing"; readonly reason: ProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: StallReason; readonly message: string }
  | { readonly kind: "Paused"; readonly message: string; readonly isEndpointGone: boolean }
  /** Nothing in this step is worth a write. */
  | { readonly kind: "Unchanged" };
