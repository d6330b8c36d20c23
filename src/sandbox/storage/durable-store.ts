import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { GroupCommit } from "./group-commit.ts";
import { MemoryStore } from "./memory-store.ts";
import { SqliteFile, type StoredRow } from "./sqlite-file.ts";
import { StorageError } from "./storage-error.ts";
import type { Store, StoreContent } from "./store.ts";

/** A store whose transactions last, once they are written. */
export interface DurableStore {
  readonly store: Store;
  /** Ends when every transaction so far is in the file, or fails with `StorageError`; `undefined`: they are. */
  written(): Promise<void> | undefined;
  /** Writes every transaction so far, now. @throws StorageError CannotWrite */
  flush(): void;
  /** Writes what it still can, and gives the directory back. The store must not be written to any more. */
  close(): void;
}

/** Name of the one file in the directory; SQLite keeps its write-ahead log beside it. */
export const stateFileName = "sandbox.db";

/** How to open a directory. */
export interface DurableStoreOptions {
  /** Made if it is not there. */
  readonly directory: string;
  /** Gets the error of the first write that failed. What the store holds is not to be answered from any more. */
  readonly onWriteFailure: (error: StorageError) => void;
}

/**
 * Opens the state in a directory: all of it is read into memory, where it is worked on. A transaction counts as done
 * when it is in the file, which `written` tells.
 *
 * @throws StorageError
 * @see docs/decisions/0007-sandbox-state-on-disk.md
 */
export function openDurableStore({ directory, onWriteFailure }: DurableStoreOptions): DurableStore {
  makeDirectory(directory);
  const file = new SqliteFile(join(directory, stateFileName));
  const commit = new GroupCommit({ write: (changes) => file.write(changes), onFailure: onWriteFailure });
  let isLoaded = false;
  const store = new MemoryStore((changes) => {
    if (isLoaded) commit.add(changes);
  });
  try {
    store.restore(contentOf(file.rows()));
  } catch (error) {
    file.close();
    throw error instanceof StorageError ? error : unreadable(directory, error);
  }
  isLoaded = true;
  const close = () => {
    try {
      commit.flush();
    } catch {
      // Whoever opened the store has heard of it.
    }
    file.close();
  };
  return { store, written: () => commit.written(), flush: () => commit.flush(), close };
}

function makeDirectory(directory: string): void {
  try {
    makeWithParents(resolve(directory));
  } catch (error) {
    throw new StorageError("CannotOpen", `${directory} cannot be made: ${(error as Error).message}`, { cause: error });
  }
}

/** By hand, for Node's own recursion never ends where the system says that a parent it has just seen does not exist. */
function makeWithParents(directory: string): void {
  if (existsSync(directory)) return;
  makeWithParents(dirname(directory));
  // What it holds is only for its owner: passwords of roles are among it.
  mkdirSync(directory, { mode: 0o700 });
}

type Lists = {
  [Name in keyof StoreContent]: StoreContent[Name] extends readonly unknown[] ? Name : never;
}[keyof StoreContent];

function contentOf(rows: readonly StoredRow[]): StoreContent {
  const lists: Record<Lists, { readonly sequence?: number }[]> = {
    projects: [],
    branches: [],
    endpoints: [],
    operations: [],
    roles: [],
    databases: [],
    keys: [],
    timers: [],
  };
  const maps: Record<Exclude<keyof StoreContent, Lists>, Record<string, unknown>> = { counters: {}, values: {} };
  for (const { collection, key, value } of rows) {
    const parsed: unknown = JSON.parse(value);
    if (Object.hasOwn(maps, collection)) maps[collection as keyof typeof maps][key] = parsed;
    else lists[collection as Lists].push(parsed as { readonly sequence?: number });
  }
  // Timers have none, and no order.
  for (const records of Object.values(lists)) records.sort((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  // The file is ours and its schema version ours too: nobody else has written these values.
  return { ...lists, ...maps } as unknown as StoreContent;
}

function unreadable(directory: string, cause: unknown): StorageError {
  const message = `${join(directory, stateFileName)} holds what no sandbox has written (${(cause as Error).message})`;
  return new StorageError("Damaged", message, { cause });
}
