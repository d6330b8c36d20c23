import type { ChangeSet, Collection } from "./journal.ts";
import type { StorageError } from "./storage-error.ts";

/** Where groups go, and who hears of one that did not get there. */
export interface GroupCommitParts {
  /** Writes everything as one transaction: all of it, or nothing. @throws StorageError */
  readonly write: (changes: ChangeSet) => void;
  readonly onFailure: (error: StorageError) => void;
}

/**
 * Writes the transactions of one turn of the event loop together, as one.
 *
 * Each is whole in the file or not there, for it lies within one group, and its answer has to wait for `written`.
 * A group that cannot be written is the last: what is in memory is then ahead of the file, and nothing may be answered
 * from it any more.
 */
export class GroupCommit {
  readonly #parts: GroupCommitParts;
  #changes = new Map<Collection, { readonly isCleared: boolean; readonly keys: Set<string> }>();
  #round: PromiseWithResolvers<void> | undefined;
  #failure: StorageError | undefined;

  constructor(parts: GroupCommitParts) {
    this.#parts = parts;
  }

  /** Takes a transaction that has just been made in memory. @throws StorageError when an earlier one was not written */
  add(changes: ChangeSet): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (const [collection, { isCleared, keys }] of changes) {
      const before = this.#changes.get(collection);
      if (isCleared || before === undefined) this.#changes.set(collection, { isCleared, keys: new Set(keys) });
      else for (const key of keys) before.keys.add(key);
    }
    this.#round ??= this.#begin();
  }

  /** Ends when everything added so far is in the file, or fails with `StorageError`; `undefined`: it is there. */
  written(): Promise<void> | undefined {
    return this.#round?.promise;
  }

  /** Writes what waits, now. @throws StorageError */
  flush(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const [changes, round] = [this.#changes, this.#round];
    if (round === undefined) return;
    try {
      // Read from the collections: what a key holds now, and every change of it until now belongs to the group.
      this.#parts.write(changes);
    } catch (error) {
      this.#failure = error as StorageError;
      round.reject(error);
      this.#parts.onFailure(this.#failure);
      throw error;
    }
    this.#changes = new Map();
    this.#round = undefined;
    round.resolve();
  }

  #begin(): PromiseWithResolvers<void> {
    const round = Promise.withResolvers<void>();
    // Whoever waits hears of a failure; it is no failure of the program that nobody does.
    round.promise.catch(() => {});
    // After all requests that have arrived by now.
    setImmediate(() => {
      if (this.#round === round && this.#failure === undefined) this.#flushQuietly();
    });
    return round;
  }

  #flushQuietly(): void {
    try {
      this.flush();
    } catch {
      // Told to `onFailure` and to everyone who waits.
    }
  }
}
