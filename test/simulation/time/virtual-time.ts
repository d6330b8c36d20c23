/** The time of a run: events happen in order, without waiting. */

/**
 * The owner of events: a process, machine or network. The event of a dead owner is dropped, and that of a paused owner
 * waits.
 */
export interface Owner {
  readonly isDead: boolean;
  /** True milliseconds. */
  readonly pausedUntilMs: number;
}

/** The owner of events of the network and the servers. It is never dead and never paused. */
export const everlasting: Owner = { isDead: false, pausedUntilMs: 0 };

interface PendingEvent {
  dueMs: number;
  readonly sequence: number;
  readonly owner: Owner;
  readonly callback: () => void;
  isCancelled: boolean;
}

/**
 * The only true time of a run, in whole milliseconds from 0, and everything that will happen. Events happen in the
 * order of their time; events of the same time happen in the order in which they were set. After each event, all
 * promises that can settle do so before the next event. So a run depends only on its input.
 */
export class VirtualTime {
  #nowMs = 0;
  #sequence = 0;
  readonly #heap: PendingEvent[] = [];
  /** The number of events that have happened. */
  events = 0;

  nowMs(): number {
    return this.#nowMs;
  }

  /**
   * Sets an event.
   * @returns a function that cancels it, unless it has happened
   */
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
   * @param untilMs the time at the end.
   * @param afterEach called after each event and everything that follows from it at once. If it returns true, the run
   * ends.
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

  /** Removes and returns the next event that may happen until a time. */
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

/**
 * Lets promises settle. Node empties their queue before the next tick, however long the chains are. An immediate would
 * cost ten times more.
 */
function settle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
