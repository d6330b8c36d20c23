import type { Clock } from "../domain/clock.ts";

/** Keeps one object from flooding everybody's events. */
export interface EventLimiter {
  /** Whether one more event about the object with this uid may be recorded. Counts it if so. */
  mayRecord(uid: string): boolean;
}

/** How much is allowed. */
export interface EventLimiterOptions {
  readonly clock: Clock;
  /** So many at once. @default 25 */
  readonly burst?: number;
  /** One more after each such time, in milliseconds. @default 60_000 */
  readonly refillMs?: number;
}

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

/** Objects that are remembered; a forgotten one starts with a full bucket. */
const capacity = 10_000;

/** A token bucket for each object. */
export function createEventLimiter(options: EventLimiterOptions): EventLimiter {
  const { clock, burst = 25, refillMs = 60_000 } = options;
  const buckets = new Map<string, Bucket>();
  return {
    mayRecord(uid) {
      const nowMs = clock.monotonicMs();
      const before = buckets.get(uid) ?? { tokens: burst, atMs: nowMs };
      const tokens = Math.min(burst, before.tokens + (nowMs - before.atMs) / refillMs);
      const mayRecord = tokens >= 1;
      buckets.delete(uid);
      buckets.set(uid, { tokens: mayRecord ? tokens - 1 : tokens, atMs: nowMs });
      if (buckets.size > capacity) {
        buckets.delete(buckets.keys().next().value ?? "");
      }
      return mayRecord;
    },
  };
}
