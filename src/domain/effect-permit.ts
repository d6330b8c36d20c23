/**
 * The one door through which every effect on the world passes, Kubernetes writes included.
 *
 * It is open while this process leads, and has lease enough left for the call.
 */
export interface EffectPermit {
  /** Whether an effect that ends within `timeoutMs` may start now. */
  mayStartEffect(timeoutMs: number): boolean;
}

/** An effect that was not started because this process may not act (any more). Nothing was sent. */
export class EffectNotPermittedError extends Error {
  override readonly name = "EffectNotPermittedError";

  constructor() {
    super("this process may not act: it is shutting down or is not the leader");
  }
}
