import type { Mutation } from "../domain/control-plane.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { CreateTurn, PostState } from "./observation.ts";

/** What became of a plan. */
export type Outcome =
  /** The plan needed no call, or its Kubernetes write is the status itself. */
  | { readonly kind: "Done" }
  /** The service accepted a write; `undefined` mutation: it said there was nothing to delete. */
  | { readonly kind: "Accepted"; readonly mutation: Mutation | undefined }
  /** Another change of the project goes first, or the project is locked. Not a failure. */
  | {
      readonly kind: "Deferred";
      /** Milliseconds since it first asked for its turn. */
      readonly waitedMs: number;
      /** Milliseconds of these since a turn last came to its end. */
      readonly stillMs: number;
      /** Whether its turn is the next. */
      readonly isFirst: boolean;
    }
  /** Another create of the branch is not resolved, and goes first. */
  | Extract<CreateTurn, { kind: "Waiting" }>
  /** A read or a write of this pass failed, or an earlier failure still holds it back. */
  | {
      readonly kind: "Failed";
      readonly error: ControlPlaneError;
      /** Milliseconds since the first failure in this row. */
      readonly forMs: number;
      /** What is known of the posts under the open intent by now. */
      readonly posts: PostState;
    };
