import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

/** Limits the rate of events, so that events never delay the work of the operator. */
export interface EventPace {
  /** Resolves when one more event may be sent. */
  turn(): Promise<void>;
  /** Ends the limit because the process stops: from now on `turn` does not wait. */
  hurry(): void;
}

/** The rate of events. */
interface EventPaceOptions {
  readonly clock: Clock;
  /** The maximum number of events that may be sent at once. */
  readonly burst: number;
  /** The number of events per second after such a burst. */
  readonly perSecond: number;
}

/** Makes the rate limit of one sender. The sender must await each `turn` before it asks for the next. */
export function createEventPace({ clock, burst, perSecond }: EventPaceOptions): EventPace {
  const bucket = new TokenBucket({ clock, capacity: burst, perSecond });
  const hurried = Promise.withResolvers<void>();
  let isHurried = false;
  return {
    async turn() {
      while (!bucket.tryTake() && !isHurried) {
        const due = Promise.withResolvers<void>();
        const timer = clock.after(bucket.waitMs(), due.resolve);
        await Promise.race([due.promise, hurried.promise]);
        timer.cancel();
      }
    },
    hurry() {
      isHurried = true;
      hurried.resolve();
    },
  };
}

/** Limits the rate of events about one object. */
export interface EventLimiter {
  /** Whether one more event about the object with this uid may be recorded. Counts the event if so. */
  mayRecord(uid: string): boolean;
}

/** The rate limit for events about one object. */
interface EventLimiterOptions {
  readonly clock: Clock;
  /** The maximum number of events that may be recorded at once. @default 25 */
  readonly burst?: number;
  /** One more event may be recorded after this interval, in milliseconds. @default 60_000 */
  readonly refillMs?: number;
}

/**
 * The maximum number of objects whose rate is tracked. The oldest are dropped; a dropped object starts again with a
 * full bucket.
 */
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
