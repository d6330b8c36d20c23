/** Computes the delays between failed attempts. */

/** The range of a delay that grows from one failure to the next. */
export interface BackoffRange {
  /** Delay after the first failure, in milliseconds. */
  readonly firstMs: number;
  /** The longest delay, in milliseconds. */
  readonly longestMs: number;
}

/**
 * Returns the delay after a number of failures in a row. It doubles with each failure.
 * @param failures the number of failures, from 1.
 * @returns milliseconds, without jitter.
 */
export function backoffMs(failures: number, { firstMs, longestMs }: BackoffRange): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 30));
}

/**
 * Returns a random delay between half of `delayMs` and all of it, so that callers that failed together do not try again
 * together.
 */
export function withJitter(delayMs: number, random: () => number): number {
  return delayMs * (0.5 + random() / 2);
}
