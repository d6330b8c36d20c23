import type { Clock } from "../../domain/clock.ts";

/** Delays between attempts of one reflector. */
export interface RelistBackoff {
  /** The delay before the next attempt, in milliseconds. */
  nextMs(): number;
}

/** How delays grow. */
export interface RelistBackoffOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** @default 800 */
  readonly baseMs?: number;
  /** @default 30_000 */
  readonly maxMs?: number;
  /** So long without a failure, and delays start over. @default 120_000 */
  readonly resetAfterMs?: number;
}

/** Doubles with each failure; between half and all of that, so that many clients of a restarted server part ways. */
export function createRelistBackoff(options: RelistBackoffOptions): RelistBackoff {
  const { clock, random, baseMs = 800, maxMs = 30_000, resetAfterMs = 120_000 } = options;
  let failures = 0;
  let delayEndsAtMs = Number.NEGATIVE_INFINITY;
  return {
    nextMs() {
      const nowMs = clock.monotonicMs();
      failures = nowMs - delayEndsAtMs > resetAfterMs ? 0 : failures;
      const delayMs = Math.min(maxMs, baseMs * 2 ** failures) * (0.5 + random() / 2);
      failures += 1;
      delayEndsAtMs = nowMs + delayMs;
      return delayMs;
    },
  };
}
