/** The error with which the engine refuses a request. */

/** `NotPlayed`: the real control plane can do this, and the sandbox cannot. */
export type RefusalReason =
  | "Invalid"
  | "NotFound"
  | "Conflict"
  | "PreconditionFailed"
  | "NotAllowed"
  | "Locked"
  | "NotPlayed";

/** The engine refuses a request. Any other error of the engine is a bug. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: RefusalReason;
  readonly code: string;

  constructor(reason: RefusalReason, message: string, code = "") {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
