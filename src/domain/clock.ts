/** Time and timers. They are passed in, so that tests and the simulation control them. */
export interface Clock {
  /** Returns epoch milliseconds, for timestamps that people read. This time may jump. */
  nowMs(): number;
  /** Returns milliseconds from an arbitrary start, for deadlines and ages. This time never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): Timer;
}

/** A timer that was set. `cancel` does nothing if the timer has already fired. */
export interface Timer {
  cancel(): void;
}
