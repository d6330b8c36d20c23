/** Writes the transactions of the store to a state directory. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SqliteFile, StorageError, type StoredRow } from "./sqlite-file.ts";
import type { ChangeSet, Tracked } from "./transactions.ts";

/** An open state directory: its content, and how transactions are written to it. */
export interface Durable {
  /** The rows that the directory held when it was opened. */
  readonly rows: readonly StoredRow[];
  /**
   * Takes the changes of a transaction that was just made in memory. They are written in the same turn of the event
   * loop, together with those of other requests.
   * @throws StorageError when an earlier transaction could not be written
   */
  commit(changes: ChangeSet): void;
  /**
   * Resolves when every transaction so far is in the file, or rejects with `StorageError`; `undefined`: every
   * transaction is in the file already.
   */
  written(): Promise<void> | undefined;
  /** Writes every transaction so far before it returns. @throws StorageError CannotWrite */
  flush(): void;
  /**
   * Tries to write everything, and releases the directory. `onWriteFailure` receives an error of this write. `commit`
   * must not be called afterwards.
   */
  close(): void;
}

/** The options of a state directory. */
export interface DurableOptions {
  /** The path of the directory. It is made if it does not exist. */
  readonly directory: string;
  /**
   * Called with the error of the first failed write. From then on, memory holds changes that the file does not hold, so
   * no request may be answered.
   */
  readonly onWriteFailure: (error: StorageError) => void;
}

/** The name of the file in the directory. SQLite keeps its write-ahead log beside it. */
export const stateFileName = "sandbox.db";

/**
 * Opens a state directory and locks it for this process.
 *
 * @throws StorageError
 * @see docs/decisions/0007-sandbox-state-on-disk.md
 */
export function openDurable({ directory, onWriteFailure }: DurableOptions): Durable {
  makeDirectory(directory);
  const file = new SqliteFile(join(directory, stateFileName));
  try {
    const group = new GroupCommit(file, onWriteFailure);
    return {
      rows: file.rows(),
      commit: (changes) => group.add(changes),
      written: () => group.written(),
      flush: () => group.flush(),
      close: () => {
        group.flushQuietly();
        file.close();
      },
    };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Makes the error for a directory whose rows cannot be read into a store. A `StorageError` is returned as it is. */
export function unreadable(directory: string, cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  const [why] = String((cause as Error).message).split("\n", 1);
  const message = `${join(directory, stateFileName)} holds records that no sandbox has written (${why}); move it away to start with an empty state`;
  return new StorageError("Damaged", message, { cause });
}

/**
 * Writes the transactions of one turn of the event loop together, as one SQLite transaction. So the file holds each
 * transaction completely or not at all. A request is answered only after the promise of `written` resolves. After a
 * failed write, nothing more is written.
 */
class GroupCommit {
  readonly #file: SqliteFile;
  readonly #onFailure: (error: StorageError) => void;
  #changes = new Map<Tracked, Set<string>>();
  #round: PromiseWithResolvers<void> | undefined;
  #failure: StorageError | undefined;

  constructor(file: SqliteFile, onFailure: (error: StorageError) => void) {
    this.#file = file;
    this.#onFailure = onFailure;
  }

  add(changes: ChangeSet): void {
    if (this.#failure !== undefined) throw this.#failure;
    for (const [tracked, keys] of changes) {
      const waiting = this.#changes.get(tracked);
      if (waiting === undefined) this.#changes.set(tracked, new Set(keys.keys()));
      else for (const key of keys.keys()) waiting.add(key);
    }
    this.#round ??= this.#begin();
  }

  written(): Promise<void> | undefined {
    return this.#round?.promise;
  }

  flush(): void {
    if (this.#failure !== undefined) throw this.#failure;
    const round = this.#round;
    if (round === undefined) return;
    try {
      // `write` reads the present values of the changed keys from memory. So the file gets every change until now.
      this.#file.write(this.#changes);
    } catch (error) {
      this.#failure = error as StorageError;
      round.reject(error);
      this.#onFailure(this.#failure);
      throw error;
    }
    this.#changes = new Map();
    this.#round = undefined;
    round.resolve();
  }

  /** Writes like `flush`, but ignores the error: `onFailure` and the waiting answers receive it. */
  flushQuietly(): void {
    try {
      this.flush();
    } catch {
      // `flush` has reported the error.
    }
  }

  #begin(): PromiseWithResolvers<void> {
    const round = Promise.withResolvers<void>();
    // Usually an answer waits for this promise. If none waits, a rejection must not end the process.
    round.promise.catch(() => {});
    // Before the write, Node runs the requests that have already arrived. Their changes become part of this write.
    setImmediate(() => {
      if (this.#round === round && this.#failure === undefined) this.flushQuietly();
    });
    return round;
  }
}

function makeDirectory(directory: string): void {
  try {
    makeWithParents(resolve(directory));
  } catch (error) {
    throw new StorageError("CannotOpen", `${directory} cannot be made: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Makes a directory with its parents. It does not use the option `recursive` of `mkdir`, which never ends on some
 * systems. They report that a parent is missing, although it exists.
 */
function makeWithParents(directory: string): void {
  if (existsSync(directory)) return;
  makeWithParents(dirname(directory));
  // Only the owner may read the directory, because it holds passwords of roles.
  mkdirSync(directory, { mode: 0o700 });
}
