/** Limits how many events the operator sends and records. */
import type { Clock } from "../../domain/clock.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";

/** The rate of events. */
interface EventPaceOptions {
  readonly clock: Clock;
  /** The maximum number of events that may be sent at once. */
  readonly burst: number;
  /** The number of events per second after such a burst. */
  readonly perSecond: number;
  /** Whether the operator has much other work. Meanwhile one event a second is sent. @default never */
  readonly isBusy?: (() => boolean) | undefined;
}

/** The longest time for which one event gives way to the work of the operator, in milliseconds. */
const longestGiveWayMs = 1_000;

/** The interval at which a waiting event checks whether the operator is still busy, in milliseconds. */
const checkEveryMs = 100;

/**
 * Limits the rate of one sender of events, so that events never delay the work of the operator. An event costs the API
 * server as much as a write of a resource.
 */
export class EventPace {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #isBusy: () => boolean;
  #isHurried = false;
  /** Ends the present wait. A promise that lives as long as the process would keep something of every wait. */
  #endWait: (() => void) | undefined;

  constructor({ clock, burst, perSecond, isBusy = () => false }: EventPaceOptions) {
    this.#clock = clock;
    this.#isBusy = isBusy;
    this.#bucket = new TokenBucket({ clock, capacity: burst, perSecond });
  }

  /** Resolves when one more event may be sent. The sender must await it before it asks for the next turn. */
  async turn(): Promise<void> {
    const giveWayUntilMs = this.#clock.monotonicMs() + longestGiveWayMs;
    while (this.#isBusy() && this.#clock.monotonicMs() < giveWayUntilMs && !this.#isHurried) {
      await this.#wait(checkEveryMs);
    }
    while (!this.#bucket.tryTake() && !this.#isHurried) {
      await this.#wait(this.#bucket.waitMs());
    }
  }

  /** Ends the limit because the process stops: from now on `turn` does not wait. */
  hurry(): void {
    this.#isHurried = true;
    this.#endWait?.();
  }

  async #wait(forMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.after(forMs, resolve);
    this.#endWait = resolve;
    await promise;
    this.#endWait = undefined;
    timer.cancel();
  }
}

/** The rate limit for events about one object. */
interface EventLimiterOptions {
  readonly clock: Clock;
  /** The maximum number of events that may be recorded at once. @default 25 */
  readonly burst?: number;
}

/** One more event may be recorded after this interval, in seconds. */
const refillSeconds = 60;

/**
 * The maximum number of objects whose rate is tracked. The oldest are dropped; a dropped object starts again with a
 * full bucket.
 */
const capacity = 10_000;

/**
 * Makes the limit for events about one object, with a token bucket for each object.
 * @returns a function that returns whether one more event about the object with this uid may be recorded, and counts it.
 */
export function createEventLimiter({ clock, burst = 25 }: EventLimiterOptions): (uid: string) => boolean {
  const buckets = new Map<string, TokenBucket>();
  return (uid) => {
    const bucket = buckets.get(uid) ?? new TokenBucket({ clock, capacity: burst, perSecond: 1 / refillSeconds });
    buckets.delete(uid);
    buckets.set(uid, bucket);
    if (buckets.size > capacity) {
      buckets.delete(buckets.keys().next().value ?? "");
    }
    return bucket.tryTake();
  };
}
