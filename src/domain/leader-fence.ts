/** An effect starts only while this process is the leader and its Lease lasts longer than the effect can take. */
export interface LeaderFence {
  mayStartEffect(timeoutMs: number): boolean;
}

/** A call was not sent because of this process, so the status stays as it is. The reconcile is repeated. */
export class PutOffError extends Error {
  override readonly name: string = "PutOffError";
}

export class LeaderFenceError extends PutOffError {
  override readonly name = "LeaderFenceError";

  constructor() {
    super("this process may not act: it is shutting down or is not the leader");
  }
}

/** A leader fence that this process can also close permanently, when it stops or has lost the Lease. */
export class ClosableFence implements LeaderFence {
  readonly #behind: LeaderFence;
  #isOpen = true;

  /** @param behind another fence that must allow each effect too: that of the Lease */
  constructor(behind: LeaderFence) {
    this.#behind = behind;
  }

  mayStartEffect(timeoutMs: number): boolean {
    return this.#isOpen && this.#behind.mayStartEffect(timeoutMs);
  }

  /** Closes the fence: no effect starts after this call. Effects that have started are not interrupted. */
  close(): void {
    this.#isOpen = false;
  }
}
