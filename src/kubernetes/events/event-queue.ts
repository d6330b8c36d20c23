/**
 * The queue of Kubernetes events that wait to be sent, and two limits. One limits how fast the operator sends events, the
 * other how many events it records about one object.
 */

import type { Clock } from "../../domain/clock.ts";
import type { ResourceEvent } from "../../domain/resource-store.ts";
import { TokenBucket } from "../../runtime/fair-line.ts";

/** An event that waits to be sent. */
export interface QueuedEvent {
  /** The id of the event, unique among the waiting events. */
  readonly id: string;
  readonly event: Pick<ResourceEvent, "type" | "isAhead">;
}

/**
 * Events that wait to be sent, ordered by rank and then by age.
 * Announcements of a coming change go first, then warnings, then normal events. So after a burst, an error does not
 * wait behind a thousand normal events.
 */
export class EventQueue<Item extends QueuedEvent> {
  readonly #capacity: number;
  readonly #lines: readonly [ahead: Item[], warnings: Item[], news: Item[]] = [[], [], []];
  readonly #byId = new Map<string, Item>();

  /** @param capacity the maximum number of waiting events */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Whether the next event announces a coming change. */
  get isNextAhead(): boolean {
    return this.#lines[0].length > 0;
  }

  find(id: string): Item | undefined {
    return this.#byId.get(id);
  }

  /**
   * Adds an event to the queue. If the queue is full, it drops the newest event of a lower rank than `item`, the lowest
   * rank first. If there is no such event, it drops `item` itself.
   * Assumption: no event with this id waits.
   * @returns the dropped event; `undefined` if there was room
   */
  join(item: Item): Item | undefined {
    const rank = rankOf(item);
    const lost = this.size < this.#capacity ? undefined : (this.#takeNewestBelow(rank) ?? item);
    if (lost !== item) {
      this.#lines[rank].push(item);
      this.#byId.set(item.id, item);
    }
    return lost;
  }

  takeNext(): Item | undefined {
    return this.#leave(this.#lines.find((line) => line.length > 0)?.shift());
  }

  clear(): readonly Item[] {
    this.#byId.clear();
    return this.#lines.flatMap((line) => line.splice(0));
  }

  #takeNewestBelow(rank: number): Item | undefined {
    return this.#leave(this.#lines.findLast((line, index) => index > rank && line.length > 0)?.pop());
  }

  #leave(item: Item | undefined): Item | undefined {
    if (item !== undefined) {
      this.#byId.delete(item.id);
    }
    return item;
  }
}

/** Returns the rank of an event. Rank 0 is sent first. */
function rankOf({ event }: QueuedEvent): 0 | 1 | 2 {
  if (event.isAhead === true) {
    return 0;
  }
  return event.type === "Warning" ? 1 : 2;
}

interface EventPaceOptions {
  readonly clock: Clock;
  /** The maximum number of events that may be sent at once. */
  readonly burst: number;
  /** The number of events per second that may be sent after a burst. */
  readonly perSecond: number;
  /**
   * Whether the operator has much other work. While it has, the next event first waits up to one second.
   * @default never
   */
  readonly isBusy?: (() => boolean) | undefined;
}

/**
 * The maximum time that the next event gives way to other work, in milliseconds. An event behind others waits longer, and
 * the rate limit may add to that.
 */
const longestGiveWayMs = 1_000;

/** The interval at which a waiting event checks whether the operator is still busy, in milliseconds. */
const checkEveryMs = 100;

/**
 * Limits how fast the operator sends events, so that events do not slow down its other writes. For the API server, an
 * event costs as much as a write of a resource. The recorder does not apply this limit to announcements of a coming
 * change.
 */
export class EventPace {
  readonly #clock: Clock;
  readonly #bucket: TokenBucket;
  readonly #isBusy: () => boolean;
  #isUnlimited = false;
  /** Ends the present wait of `turn`; `undefined`: `turn` does not wait now. */
  #endWait: (() => void) | undefined;

  constructor({ clock, burst, perSecond, isBusy = () => false }: EventPaceOptions) {
    this.#clock = clock;
    this.#isBusy = isBusy;
    this.#bucket = new TokenBucket({ clock, capacity: burst, perSecond });
  }

  /** Resolves when one more event may be sent. The caller must await one turn before it asks for the next. */
  async turn(): Promise<void> {
    const giveWayUntilMs = this.#clock.monotonicMs() + longestGiveWayMs;
    while (this.#isBusy() && this.#clock.monotonicMs() < giveWayUntilMs && !this.#isUnlimited) {
      await this.#wait(checkEveryMs);
    }
    while (!this.#bucket.tryTake() && !this.#isUnlimited) {
      await this.#wait(this.#bucket.waitMs());
    }
  }

  /** Ends the limit because the process stops: from now on `turn` does not wait. */
  endLimit(): void {
    this.#isUnlimited = true;
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

/**
 * When the burst of an object is used up, one more event about it may be recorded in each interval of this length, in
 * seconds.
 */
const refillSeconds = 60;

/**
 * The maximum number of objects whose rate is tracked. Above it, the object whose latest event is oldest is forgotten.
 * A forgotten object starts again with a full bucket.
 */
const capacity = 10_000;

/**
 * Makes the limit of how many events are recorded about one object. Each object has a token bucket.
 * @returns a function that takes the uid of an object. `true`: one more event about it may be recorded, and is counted.
 *   `false`: the limit is reached.
 */
export function createEventLimiter({ clock, burst = 25 }: { readonly clock: Clock; readonly burst?: number }) {
  const buckets = new Map<string, TokenBucket>();
  return (uid: string): boolean => {
    const bucket = buckets.get(uid) ?? new TokenBucket({ clock, capacity: burst, perSecond: 1 / refillSeconds });
    buckets.delete(uid);
    buckets.set(uid, bucket);
    if (buckets.size > capacity) {
      buckets.delete(buckets.keys().next().value ?? "");
    }
    return bucket.tryTake();
  };
}
