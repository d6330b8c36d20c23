import type { Collection, Journal } from "./journal.ts";

/** Plain values by name in memory. */
export class MemoryMap<V> implements Collection {
  readonly name: string;
  readonly #journal: Journal;
  #values = new Map<string, V>();

  constructor(name: string, journal: Journal) {
    this.name = name;
    this.#journal = journal;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): void {
    // Some counters are written ten times a transaction.
    if (this.#journal.hasWritten(this, key)) {
      this.#values.set(key, value);
      return;
    }
    const before = this.#values.get(key);
    this.#journal.write({
      collection: this,
      key,
      apply: () => this.#values.set(key, value),
      undo: () => (before === undefined ? this.#values.delete(key) : this.#values.set(key, before)),
    });
  }

  /** A copy of everything. */
  entries(): Readonly<Record<string, V>> {
    return Object.fromEntries(this.#values);
  }

  clear(): void {
    const before = this.#values;
    this.#journal.write({
      collection: this,
      key: undefined,
      apply: () => {
        this.#values = new Map();
      },
      undo: () => {
        this.#values = before;
      },
    });
  }

  valueOf(key: string): unknown {
    return this.#values.get(key);
  }
}
