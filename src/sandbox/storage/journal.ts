/** A named part of a store. */
export interface Collection {
  readonly name: string;
  /** What it holds under a key, as a plain value; `undefined`: nothing. */
  valueOf(key: string): unknown;
}

/** What a transaction changed in one collection. */
export interface CollectionChanges {
  /** Everything went first; what the keys now hold came after. */
  readonly isCleared: boolean;
  /** The values are read from the collection, so a key written often counts once. */
  readonly keys: ReadonlySet<string>;
}

/** Everything a transaction changed. Not empty. */
export type ChangeSet = ReadonlyMap<Collection, CollectionChanges>;

/** Makes the changes of a transaction last; when it throws, the transaction has failed and is undone. */
export type Commit = (changes: ChangeSet) => void;

/** One write: what it changes, and how to make it and take it back. */
export interface Write {
  readonly collection: Collection;
  /** `undefined`: all of them are removed. */
  readonly key: string | undefined;
  readonly apply: () => void;
  readonly undo: () => void;
}

interface Transaction {
  readonly undos: (() => void)[];
  readonly changes: Map<Collection, { isCleared: boolean; keys: Set<string> }>;
}

/** Makes writes all or nothing, and hands them on as a whole when a transaction ends. */
export class Journal {
  readonly #commit: Commit | undefined;
  #open: Transaction | undefined;

  /** @param commit absent: nothing needs to last. */
  constructor(commit?: Commit) {
    this.#commit = commit;
  }

  /**
   * Runs `work` as one transaction. When it, or making it last, throws, every write of it is undone, last first.
   * Nested calls join the outer one.
   */
  run<T>(work: () => T): T {
    if (this.#open !== undefined) return work();
    const transaction: Transaction = { undos: [], changes: new Map() };
    this.#open = transaction;
    try {
      const result = work();
      if (transaction.changes.size > 0) this.#commit?.(transaction.changes);
      return result;
    } catch (error) {
      for (const undo of transaction.undos.reverse()) undo();
      throw error;
    } finally {
      this.#open = undefined;
    }
  }

  /** Makes a write; outside a transaction it is one of its own. */
  write(write: Write): void {
    const open = this.#open;
    if (open === undefined) {
      this.run(() => this.write(write));
      return;
    }
    // The first undo of a key brings back what was there before the transaction; the others would be undone by it.
    if (this.#note(open, write)) open.undos.push(write.undo);
    write.apply();
  }

  /** Whether the open transaction has written this key before: another write of it needs no note. */
  hasWritten(collection: Collection, key: string): boolean {
    return this.#open?.changes.get(collection)?.keys.has(key) === true;
  }

  /** @returns whether the transaction has not written this key before. */
  #note({ changes }: Transaction, { collection, key }: Write): boolean {
    const noted = changes.get(collection);
    if (key === undefined) {
      changes.set(collection, { isCleared: true, keys: new Set() });
      return true;
    }
    if (noted === undefined) {
      changes.set(collection, { isCleared: false, keys: new Set([key]) });
      return true;
    }
    const before = noted.keys.size;
    return noted.keys.add(key).size > before;
  }
}
