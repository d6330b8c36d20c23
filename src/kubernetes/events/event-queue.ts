/** The queue of events that wait to be sent, and the limits of their rate. */

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
 * wait behind a thousand normal events. A full queue drops events of the lowest rank first.
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

  /** Removes and returns all waiting events. */
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
  /** The number of events per second after such a burst. */
  readonly perSecond: number;
  /** Whether the operator has much other work. If so, the sender sends about one event a second. @default never */
  readonly isBusy?: (() => boolean) | undefined;
}

/** While the operator has much other work, each event waits at most this long, in milliseconds. */
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
  #isUnlimited = false;
  /** Ends the present wait. One promise for all waits would keep a callback of each wait in memory. */
  #endWait: (() => void) | undefined;

  constructor({ clock, burst, perSecond, isBusy = () => false }: EventPaceOptions) {
    this.#clock = clock;
    this.#isBusy = isBusy;
    this.#bucket = new TokenBucket({ clock, capacity: burst, perSecond });
  }

  /** Resolves when one more event may be sent. The sender must await it before it asks for the next turn. */
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

/** After a burst, one more event about an object may be recorded per interval, in seconds. */
const refillSeconds = 60;

/** The maximum number of objects whose rate is tracked. A forgotten object starts again with a full bucket. */
const capacity = 10_000;

/**
 * Makes the limit for events about one object, with a token bucket for each object.
 * @returns a function that returns whether one more event about the object with this uid may be recorded, and counts it.
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
