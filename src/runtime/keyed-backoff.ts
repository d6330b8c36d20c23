import { backoffMs, withJitter } from "../domain/backoff.ts";

/** The options of a backoff. */
export interface BackoffOptions {
  /** The delay after the first failure, in milliseconds. @default 5 */
  readonly baseMs?: number;
  /** The longest delay, in milliseconds. @default 300_000 */
  readonly maxMs?: number;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
}

/** Counts the failures in a row of each key, and computes the delay after each failure. */
export interface KeyedBackoff {
  /** Counts one more failure and returns the delay after it, in milliseconds. */
  next(id: string): number;
  /** Returns the number of failures in a row; 0 if the key never failed or was forgotten. */
  failures(id: string): number;
  /** Resets the count of a key. For an unknown key it does nothing. */
  forget(id: string): void;
}

/** Makes a backoff whose delays double from `baseMs` to `maxMs`, with jitter. */
export function createKeyedBackoff(options: BackoffOptions = {}): KeyedBackoff {
  const { baseMs = 5, maxMs = 300_000, random = Math.random } = options;
  const failuresById = new Map<string, number>();
  const failures = (id: string) => failuresById.get(id) ?? 0;
  return {
    next(id) {
      const count = failures(id) + 1;
      failuresById.set(id, count);
      return withJitter(backoffMs(count, { firstMs: baseMs, longestMs: maxMs }), random);
    },
    failures,
    forget(id) {
      failuresById.delete(id);
    },
  };
}
