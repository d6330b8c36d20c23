import { backoffMs, withJitter } from "../domain/backoff.ts";

/** How delays grow. */
export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. @default 5 */
  readonly baseMs?: number;
  /** No delay is longer, in milliseconds. @default 300_000 */
  readonly maxMs?: number;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
}

/** Counts the failures of each key in a row, and computes the delay after each. */
export interface KeyedBackoff {
  /** Counts one more failure and returns the delay after it, in milliseconds. */
  next(id: string): number;
  /** Failures in a row; 0 when it never failed or was forgotten. */
  failures(id: string): number;
  /** Starts over. Harmless for an unknown key. */
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
