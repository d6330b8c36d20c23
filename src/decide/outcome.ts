import type { Mutation as AnsweredMutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Operation } from "../domain/operation.ts";
import type { LocalObservation, Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";

/** The result of carrying out a plan. */
export type Outcome =
  /** Nothing had to be sent to the control plane. */
  | { readonly kind: "NothingSent" }
  /** The control plane accepted a change. `undefined`: it answered that there was nothing to delete. */
  | { readonly kind: "Accepted"; readonly answer: AnsweredMutation | undefined }
  /** Another change of the project comes first. Not a failure. Milliseconds. */
  | {
      readonly kind: "Deferred";
      /** Since this resource first asked for its change. */
      readonly waitedMs: number;
      /** Since the project last accepted a change of any resource. */
      readonly stillMs: number;
    }
  /** A read or a change failed, or an earlier failure still holds the change back. */
  | {
      readonly kind: "Failed";
      readonly error: ControlPlaneError;
      /** Milliseconds since the first failure of this row. */
      readonly forMs: number;
      /** The operation that locks the project, if the log shows it. */
      readonly lockHolder: Operation | undefined;
    };

/** One reconcile of one resource: the input of its status, events and log line. */
export interface ResourceStep {
  readonly local: LocalObservation;
  /** `undefined`: no snapshot was needed, or none could be read. */
  readonly observation: Observation | undefined;
  /** `undefined`: no snapshot could be read, so nothing was decided. */
  readonly plan: Plan | undefined;
  readonly outcome: Outcome;
  /** True: the same reconcile looks at the control plane next, so a requested reconcile is not handled yet. @default false */
  readonly isLookPending?: boolean;
}
