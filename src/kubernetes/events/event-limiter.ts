import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

/** Limits the rate of events about one object. */
export interface EventLimiter {
  /** Whether one more event about the object with this uid may be recorded. Counts the event if so. */
  mayRecord(uid: string): boolean;
}

/** The limits. */
export interface EventLimiterOptions {
  readonly clock: Clock;
  /** Events that may be recorded at once. @default 25 */
  readonly burst?: number;
  /** One more event may be recorded after this interval, in milliseconds. @default 60_000 */
  readonly refillMs?: number;
}

/** The maximum number of objects with a bucket; an object that was dropped starts with a full one. */
const capacity = 10_000;

/** Makes a limiter with a token bucket for each object. */
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
