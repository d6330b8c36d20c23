import type { TimerRecord } from "../engine/records.ts";
import type { Collection, Journal } from "./journal.ts";

/**
 * Timers ordered by due time: a binary heap in which a replaced or removed timer stays until it comes to the top.
 */
export class TimerQueue implements Collection {
  readonly name = "timers";
  readonly #journal: Journal;
  #live = new Map<string, TimerRecord>();
  #heap: TimerRecord[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  put(timer: TimerRecord): void {
    const before = this.#live.get(timer.key);
    const isSame = before?.dueMs === timer.dueMs && before.rank === timer.rank && before.subjectId === timer.subjectId;
    if (!isSame) this.#write(timer.key, () => this.#insert(timer));
  }

  remove(key: string): void {
    if (this.#live.has(key)) this.#write(key, () => this.#live.delete(key));
  }

  next(): TimerRecord | undefined {
    while (this.#heap.length > 0) {
      const top = this.#heap[0] as TimerRecord;
      if (this.#live.get(top.key) === top) return top;
      this.#pop();
    }
    return undefined;
  }

  /** All of them, in no order. */
  list(): readonly TimerRecord[] {
    return [...this.#live.values()];
  }

  clear(): void {
    const [live, heap] = [this.#live, this.#heap];
    this.#journal.write({
      collection: this,
      key: undefined,
      apply: () => {
        this.#live = new Map();
        this.#heap = [];
      },
      undo: () => {
        this.#live = live;
        this.#heap = heap;
      },
    });
  }

  valueOf(key: string): unknown {
    return this.#live.get(key);
  }

  #write(key: string, apply: () => void): void {
    const before = this.#live.get(key);
    const undo = () => (before === undefined ? this.#live.delete(key) : this.#insert(before));
    this.#journal.write({ collection: this, key, apply, undo });
  }

  #insert(timer: TimerRecord): void {
    this.#live.set(timer.key, timer);
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#live.size) this.#rebuild();
    else this.#push(timer);
  }

  /** Drops what has been replaced or removed; a sorted array is a heap. */
  #rebuild(): void {
    this.#heap = [...this.#live.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1));
  }

  #push(timer: TimerRecord): void {
    this.#heap.push(timer);
    let index = this.#heap.length - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(this.#at(index), this.#at(parent))) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    let index = 0;
    for (;;) {
      const smallest = this.#smallestOf(index, 2 * index + 1, 2 * index + 2);
      if (smallest === index) return;
      this.#swap(index, smallest);
      index = smallest;
    }
  }

  #smallestOf(parent: number, left: number, right: number): number {
    let smallest = parent;
    if (left < this.#heap.length && isBefore(this.#at(left), this.#at(smallest))) smallest = left;
    if (right < this.#heap.length && isBefore(this.#at(right), this.#at(smallest))) smallest = right;
    return smallest;
  }

  #at(index: number): TimerRecord {
    return this.#heap[index] as TimerRecord;
  }

  #swap(a: number, b: number): void {
    const held = this.#at(a);
    this.#heap[a] = this.#at(b);
    this.#heap[b] = held;
  }
}

function isBefore(a: TimerRecord, b: TimerRecord): boolean {
  if (a.dueMs !== b.dueMs) return a.dueMs < b.dueMs;
  if (a.rank !== b.rank) return a.rank < b.rank;
  return a.key < b.key;
}
