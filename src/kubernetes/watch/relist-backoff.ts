import { backoffMs, withJitter } from "../../domain/backoff.ts";
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
  /** Delays start over after this time without a failure, in milliseconds. @default 120_000 */
  readonly resetAfterMs?: number;
}

/** Makes the delays of one reflector. They start over after two minutes without a failure. */
export function createRelistBackoff(options: RelistBackoffOptions): RelistBackoff {
  const { clock, random, baseMs = 800, maxMs = 30_000, resetAfterMs = 120_000 } = options;
  let failures = 0;
  let delayEndsAtMs = Number.NEGATIVE_INFINITY;
  return {
    nextMs() {
      const nowMs = clock.monotonicMs();
      failures = nowMs - delayEndsAtMs > resetAfterMs ? 1 : failures + 1;
      const delayMs = withJitter(backoffMs(failures, { firstMs: baseMs, longestMs: maxMs }), random);
      delayEndsAtMs = nowMs + delayMs;
      return delayMs;
    },
  };
}
