/** Time and timers, injected so that tests and the simulation own them. */
export interface Clock {
  /** Epoch milliseconds. For timestamps that people read; may jump. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start. For deadlines and ages; never goes back. */
  monotonicMs(): number;
  /** Calls `callback` once after `delayMs`. */
  after(delayMs: number, callback: () => void): Timer;
}

/** A timer that has been set. Cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** setTimeout fires at once when asked for more than a signed 32-bit number of milliseconds. */
const longestTimeoutMs = 2 ** 31 - 1;

/** The machine's own clock. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timeout = setTimeout(callback, Math.min(delayMs, longestTimeoutMs));
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
