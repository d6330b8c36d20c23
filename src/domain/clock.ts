export interface Clock {
  /** Returns epoch milliseconds, for timestamps that people read. This time may jump. */
  nowMs(): number;
  /** Returns milliseconds from an arbitrary start, for deadlines and ages. This time never goes back. */
  monotonicMs(): number;
  after(delayMs: number, callback: () => void): Timer;
}

/** A timer that was set. `cancel` does nothing if the timer has already fired. */
export interface Timer {
  cancel(): void;
}

interface BackoffRange {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Doubles with each failure. @param failures in a row, from 1. @returns milliseconds without jitter */
export function backoffMs(failures: number, { firstMs, longestMs }: BackoffRange): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
}

/** Returns a random delay from half of `delayMs` to all of it, so that callers do not try again together. */
export function withJitter(delayMs: number, random: () => number): number {
  return delayMs * (0.5 + random() / 2);
}
