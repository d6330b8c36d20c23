/** Runs transactions in memory: either all changes of a transaction remain, or none. */

/** A holder of values that change in transactions: a table, or named values. */
export interface Tracked {
  readonly name: string;
  get(key: string): unknown;
  /**
   * Sets or removes (`undefined`) a value without recording the change. Only `Transactions` and loading may call it.
   */
  replace(key: string, value: unknown): void;
}

/**
 * The keys that a transaction changed, by the table or named values that hold them. It is never empty. A reader gets
 * the new values from the holder.
 */
export type ChangeSet = ReadonlyMap<Tracked, { keys(): Iterable<string> }>;

/** Stores the changes of a transaction. If it throws, the transaction has failed and is undone. */
export type Commit = (changes: ChangeSet) => void;

/**
 * Runs transactions: it remembers the former value of each changed key, and restores these values if the work or the
 * commit throws.
 */
export class Transactions {
  readonly #commit: Commit | undefined;
  #open: Map<Tracked, Map<string, unknown>> | undefined;

  /** Makes the transactions of a store. @param commit stores the changes. @default the changes exist in memory only */
  constructor(commit?: Commit) {
    this.#commit = commit;
  }

  /**
   * Runs `work` as one transaction. If `work` or the commit throws, every write is undone. A nested call is part of the
   * outer transaction: its writes are undone only if the outer transaction fails.
   */
  run<T>(work: () => T): T {
    if (this.#open !== undefined) return work();
    const before = new Map<Tracked, Map<string, unknown>>();
    this.#open = before;
    try {
      const result = work();
      if (before.size > 0) this.#commit?.(before);
      return result;
    } catch (error) {
      for (const [tracked, values] of before) {
        for (const [key, value] of values) tracked.replace(key, value);
      }
      throw error;
    } finally {
      this.#open = undefined;
    }
  }

  /** Sets or removes (`undefined`) one value. Outside a transaction, the write is a transaction of its own. */
  write(tracked: Tracked, key: string, value: unknown): void {
    const open = this.#open;
    if (open === undefined) {
      this.run(() => this.write(tracked, key, value));
      return;
    }
    let before = open.get(tracked);
    if (before === undefined) {
      before = new Map();
      open.set(tracked, before);
    }
    if (!before.has(key)) before.set(key, tracked.get(key));
    tracked.replace(key, value);
  }
}

/** Values by name, such as counters. */
export class NamedValues<V> implements Tracked {
  readonly name: string;
  readonly #transactions: Transactions;
  readonly #values = new Map<string, V>();

  constructor(name: string, transactions: Transactions) {
    this.name = name;
    this.#transactions = transactions;
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: V): void {
    this.#transactions.write(this, key, value);
  }

  entries(): Readonly<Record<string, V>> {
    return Object.fromEntries(this.#values);
  }

  clear(): void {
    for (const key of [...this.#values.keys()]) this.#transactions.write(this, key, undefined);
  }

  replace(key: string, value: V | undefined): void {
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
  }
}
