/** How delays grow. */
export interface BackoffOptions {
  /** Delay after the first failure, in milliseconds. @default 5 */
  readonly baseMs?: number;
  /** No delay is longer, in milliseconds. @default 300_000 */
  readonly maxMs?: number;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
}

/** Counts the failures of each key in a row, and says how long to wait after each. */
export interface KeyedBackoff {
  /** Counts one more failure and answers the delay that follows it, in milliseconds. */
  next(id: string): number;
  /** Failures in a row; 0 when it never failed or was forgotten. */
  failures(id: string): number;
  /** Starts over. Harmless for an unknown key. */
  forget(id: string): void;
}

/** Exponential, doubling from `baseMs` to `maxMs`, and between half and all of that: keys that failed at once part ways. */
export function createKeyedBackoff(options: BackoffOptions = {}): KeyedBackoff {
  const { baseMs = 5, maxMs = 300_000, random = Math.random } = options;
  const failuresById = new Map<string, number>();
  const failures = (id: string) => failuresById.get(id) ?? 0;
  return {
    next(id) {
      const count = failures(id);
      failuresById.set(id, count + 1);
      const fullMs = Math.min(maxMs, baseMs * 2 ** count);
      return fullMs * (0.5 + random() / 2);
    },
    failures,
    forget(id) {
      failuresById.delete(id);
    },
  };
}
