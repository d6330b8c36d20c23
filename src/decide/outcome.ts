import type { Mutation as AnsweredMutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { LocalObservation, Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";

/** The result of carrying out a plan. */
export type Outcome =
  /** Nothing had to be sent to the control plane. */
  | { readonly kind: "NothingSent" }
  /** The control plane accepted a change. `answer` is `undefined` if a DELETE found nothing to delete. */
  | { readonly kind: "Accepted"; readonly answer: AnsweredMutation | undefined }
  /** The change was not sent, because another change of the project comes first. This is no failure. */
  | {
      readonly kind: "Deferred";
      /** Milliseconds since this resource first asked for its change. */
      readonly waitedMs: number;
      /** Milliseconds since the project last accepted a change of any resource. */
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
