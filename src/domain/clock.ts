/** Time and timers. They are injected, so that tests and the simulation control them. */
export interface Clock {
  /** Epoch milliseconds, for timestamps that people read. It may jump. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start, for deadlines and ages. It never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): Timer;
}

/** A timer that has been set. Cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}
