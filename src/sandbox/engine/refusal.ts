/** Why a request is not carried out. Never applied in part. `NotPlayed`: the sandbox cannot do it, the real service can. */
export type RefusalReason = "Invalid" | "NotFound" | "Conflict" | "NotAllowed" | "Locked" | "NotPlayed";

/** A request that the control plane refuses. Any other error of the engine is a bug. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly reason: RefusalReason;
  /** The service's own code, often empty. */
  readonly code: string;

  constructor(reason: RefusalReason, message: string, code = "") {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}
