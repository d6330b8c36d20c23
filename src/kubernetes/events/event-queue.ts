import type { ResourceEvent } from "../../domain/event-recorder.ts";

/** What waits to be sent. */
export interface QueuedEvent {
  /** No two that wait have the same. */
  readonly id: string;
  readonly event: Pick<ResourceEvent, "type" | "isAhead">;
}

/**
 * Events that wait, by rank and then in their order: first what is said ahead of time, then warnings, then the rest. After
 * a burst an error must not stand behind a thousand lines of good news. What does not fit any more is lost, the lowest
 * rank first.
 */
export class EventQueue<Item extends QueuedEvent> {
  readonly #capacity: number;
  readonly #lines: readonly [ahead: Item[], warnings: Item[], news: Item[]] = [[], [], []];
  readonly #byId = new Map<string, Item>();

  /** @param capacity most that wait. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Whether what comes next is said ahead of time. */
  get isNextAhead(): boolean {
    return this.#lines[0].length > 0;
  }

  /** The one of this id, if it waits. */
  find(id: string): Item | undefined {
    return this.#byId.get(id);
  }

  /**
   * Assumption: none of the same id waits.
   *
   * @returns what is lost: the newest of the lowest rank below that of `item`, else `item` itself; `undefined`: there was room.
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

  /** Takes out whatever waits. */
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

/** The place of its line; 0 goes first. */
function rankOf({ event }: QueuedEvent): 0 | 1 | 2 {
  if (event.isAhead === true) {
    return 0;
  }
  return event.type === "Warning" ? 1 : 2;
}
