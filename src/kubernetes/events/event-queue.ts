/** The queue of events that wait to be sent. */
import type { ResourceEvent } from "../../domain/resource-store.ts";

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

  /** Makes an empty queue. @param capacity the maximum number of waiting events */
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

  /** Returns the waiting event with this id; `undefined` if there is none. */
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
