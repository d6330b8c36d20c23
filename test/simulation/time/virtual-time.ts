/** The time of a run: events happen in order, without waiting. */

/** A process, machine or wire that events happen on. An event of a dead owner is dropped; one of a paused owner waits. */
export interface Owner {
  readonly isDead: boolean;
  /** True milliseconds. */
  readonly pausedUntilMs: number;
}

/** The network and the servers: never dead, never paused. */
export const everlasting: Owner = { isDead: false, pausedUntilMs: 0 };

interface PendingEvent {
  dueMs: number;
  readonly sequence: number;
  readonly owner: Owner;
  readonly callback: () => void;
  isCancelled: boolean;
}

/**
 * The one true time of a run, in whole milliseconds from 0, and everything that will happen in it.
 *
 * Events happen in the order of their time, those of the same time in the order in which they were set. After each event
 * every promise that can settle settles before the next event happens, so that a run depends on nothing but its input.
 */
export class VirtualTime {
  #nowMs = 0;
  #sequence = 0;
  readonly #heap: PendingEvent[] = [];
  /** How many events have happened. */
  events = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  /** Sets an event. @returns cancels it; one that has happened stays */
  at(dueMs: number, owner: Owner, callback: () => void): () => void {
    this.#sequence += 1;
    const event: PendingEvent = {
      dueMs: Math.max(this.#nowMs, Math.ceil(dueMs)),
      sequence: this.#sequence,
      owner,
      callback,
      isCancelled: false,
    };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Sets an event `delayMs` from now. */
  after(delayMs: number, owner: Owner, callback: () => void): () => void {
    return this.at(this.#nowMs + delayMs, owner, callback);
  }

  /**
   * Lets time pass.
   *
   * @param untilMs time stands there in the end.
   * @param afterEach called when an event and all that follows from it at once has happened. True ends the run.
   */
  async run(untilMs: number, afterEach: () => boolean): Promise<void> {
    await settle();
    for (let next = this.#takeUntil(untilMs); next !== undefined; next = this.#takeUntil(untilMs)) {
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      this.events += 1;
      next.callback();
      await settle();
      if (afterEach()) return;
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** The next event that may happen by then; takes it off. */
  #takeUntil(untilMs: number): PendingEvent | undefined {
    for (let first = this.#heap[0]; first !== undefined && first.dueMs <= untilMs; first = this.#heap[0]) {
      this.#pop();
      if (first.isCancelled || first.owner.isDead) continue;
      if (first.owner.pausedUntilMs <= first.dueMs) return first;
      first.dueMs = first.owner.pausedUntilMs;
      this.#push(first);
    }
    return undefined;
  }

  #push(event: PendingEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent] as PendingEvent;
      if (!isBefore(event, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as PendingEvent;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const isRightFirst = right < heap.length && isBefore(heap[right] as PendingEvent, heap[left] as PendingEvent);
      const least = isRightFirst ? right : left;
      if (!isBefore(heap[least] as PendingEvent, last)) break;
      heap[at] = heap[least] as PendingEvent;
      at = least;
    }
    heap[at] = last;
  }
}

function isBefore(a: PendingEvent, b: PendingEvent): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

/** Node empties the queue of promises before the next tick, however long their chains are. An immediate costs ten times more. */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
