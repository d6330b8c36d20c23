/**
 * The leader fence: the check before every effect on the control plane or the API server.
 * It lets an effect start only while this process is the leader and its Lease lasts longer than the effect can take.
 */
export interface LeaderFence {
  /** Whether an effect that ends within `timeoutMs` may start now. */
  mayStartEffect(timeoutMs: number): boolean;
}

/** The leader fence refused an effect. Nothing was sent. */
export class LeaderFenceError extends Error {
  override readonly name = "LeaderFenceError";

  constructor() {
    super("this process may not act: it is shutting down or is not the leader");
  }
}
