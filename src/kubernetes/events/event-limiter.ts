import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

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

/** Objects that are remembered; a forgotten one starts with a full bucket. */
const capacity = 10_000;

/** A token bucket for each object. */
export function createEventLimiter(options: EventLimiterOptions): EventLimiter {
  const { clock, burst = 25, refillMs = 60_000 } = options;
  const buckets = new Map<string, TokenBucket>();
  return {
    mayRecord(uid) {
      const bucket = buckets.get(uid) ?? new TokenBucket({ clock, capacity: burst, perSecond: 1_000 / refillMs });
      const mayRecord = bucket.tryTake();
      buckets.delete(uid);
      buckets.set(uid, bucket);
      if (buckets.size > capacity) {
        buckets.delete(buckets.keys().next().value ?? "");
      }
      return mayRecord;
    },
  };
}
