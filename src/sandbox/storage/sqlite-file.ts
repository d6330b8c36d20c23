/** Stores records in one SQLite file. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { ChangeSet } from "./transactions.ts";

/**
 * Why state on disk cannot be used.
 * `InUse`: another process uses it. `Foreign`: another program wrote it. `Newer`: a later version wrote it. `Damaged`:
 * its content is broken. `Mismatch`: it was made with another profile. `CannotOpen`, `CannotWrite`: the operating
 * system or SQLite failed, for example because the disk is full.
 */
export type StorageReason = "InUse" | "Foreign" | "Newer" | "Damaged" | "Mismatch" | "CannotOpen" | "CannotWrite";

/** State on disk cannot be used. The message names the file, what is wrong and what to do. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly reason: StorageReason;

  constructor(reason: StorageReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** One record or value of a store, as it is stored in the file. */
export interface StoredRow {
  readonly collection: string;
  readonly key: string;
  /** The value as JSON text. */
  readonly value: string;
}

/** The name of the file in the state directory. SQLite keeps its write-ahead log beside it. */
export const stateFileName = "sandbox.db";

/** The number that marks a file as the sandbox's, in the SQLite field `application_id`: the letters "epsb". */
const applicationId = 0x65707362;

/**
 * The version of the table and its values. It must rise with every change after which older versions of the sandbox
 * cannot read the file.
 */
const schemaVersion = 1;

/**
 * The schema of the file. Records are stored in the order in which they were added, with a separate index. Most keys
 * are random, so a table in key order would write every record to another page.
 */
const schema = `
  CREATE TABLE record (
    collection TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (collection, key)
  ) STRICT;
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion}`;

/**
 * SQLite moves the write-ahead log into the file when the log has this many pages, about 32 MB. A move waits for the
 * disk, so it must be rare.
 */
const checkpointPages = 8000;

/** The result codes of SQLite. @see https://www.sqlite.org/rescode.html (read 2026-11-21) */
const resultCode = { busy: 5, corrupt: 11, full: 13, notADatabase: 26 } as const;

/**
 * The SQLite file with everything that a store holds: one row for each record or named value.
 * Only one process can use the file at a time, because it holds a lock. The operating system releases the lock when the
 * process ends, even after a crash. After a crash, the file holds each transaction completely or not at all.
 */
export class SqliteFile {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #put: StatementSync;
  readonly #remove: StatementSync;

  /**
   * Opens the file in a directory. Both are made if they do not exist.
   * @throws StorageError InUse, Foreign, Newer, Damaged, CannotOpen
   * @see docs/decisions/0007-sandbox-state-on-disk.md
   */
  constructor(directory: string) {
    const path = join(directory, stateFileName);
    this.#path = path;
    const database = this.#guard("CannotOpen", () => {
      makeWithParents(resolve(directory));
      return new DatabaseSync(path, { timeout: 0 });
    });
    this.#database = database;
    try {
      this.#guard("CannotOpen", () => this.#prepareFile());
      this.#begin = database.prepare("BEGIN IMMEDIATE");
      this.#commit = database.prepare("COMMIT");
      this.#put = database.prepare(
        "INSERT INTO record VALUES (?, ?, ?) ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value",
      );
      this.#remove = database.prepare("DELETE FROM record WHERE collection = ? AND key = ?");
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Returns all rows, in no particular order. @throws StorageError Damaged */
  rows(): readonly StoredRow[] {
    return this.#guard("Damaged", () => {
      return this.#database.prepare("SELECT collection, key, value FROM record").all() as unknown as StoredRow[];
    });
  }

  /**
   * Writes one transaction. After the call, a crash of the process no longer loses it.
   * @throws StorageError CannotWrite
   */
  write(changes: ChangeSet): void {
    this.#guard("CannotWrite", () => {
      this.#begin.run();
      try {
        this.#apply(changes);
        this.#commit.run();
      } catch (error) {
        // After some errors, such as a full disk, SQLite has already rolled back.
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Releases the file. A second call does nothing. */
  close(): void {
    if (this.#database.isOpen) this.#database.close();
  }

  /** Makes the error for a file whose rows cannot be read into a store. */
  unreadable(cause: unknown): StorageError {
    const [why] = String((cause as Error).message).split("\n", 1);
    const message = `${this.#path} holds records that no sandbox has written (${why}); move it away to start with an empty state`;
    return new StorageError("Damaged", message, { cause });
  }

  #prepareFile(): void {
    // In this mode SQLite holds the lock until the file is closed. So a second process gets "busy" at once.
    this.#database.exec("PRAGMA locking_mode = EXCLUSIVE");
    // The file may belong to another program, so the sandbox checks it before its first change.
    this.#isNew();
    this.#database.exec("PRAGMA journal_mode = WAL");
    // With a write-ahead log a killed process loses nothing. Only a power cut may lose the last transactions.
    this.#database.exec(`PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    this.#database.exec("BEGIN EXCLUSIVE");
    try {
      if (this.#isNew()) this.#database.exec(schema);
      this.#database.exec("COMMIT");
    } finally {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    const [verdict] = Object.values(this.#database.prepare("PRAGMA quick_check(1)").get() ?? {});
    if (verdict !== "ok") throw this.#damaged(String(verdict));
  }

  /** Whether the file is empty, so that it gets the schema. @throws StorageError Foreign, Newer */
  #isNew(): boolean {
    const [id, version] = [this.#pragma("application_id"), this.#pragma("user_version")];
    if (id === applicationId) {
      if (version <= schemaVersion) return false;
      throw new StorageError(
        "Newer",
        `${this.#path} was written by a later version; use that version, or another directory`,
      );
    }
    const { count } = this.#database.prepare("SELECT count(*) AS count FROM sqlite_schema").get() as { count: number };
    if (id === 0 && version === 0 && count === 0) return true;
    throw new StorageError("Foreign", `${this.#path} was not written by a sandbox; use another directory`);
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  #apply(changes: ChangeSet): void {
    for (const [tracked, keys] of changes) {
      for (const key of keys.keys()) {
        const value = tracked.get(key);
        if (value === undefined) this.#remove.run(tracked.name, key);
        else this.#put.run(tracked.name, key, JSON.stringify(value));
      }
    }
  }

  #damaged(details: string, cause?: unknown): StorageError {
    const message = `${this.#path} is damaged or is not a database (${details}); move it away to start with an empty state`;
    return new StorageError("Damaged", message, { cause });
  }

  #guard<T>(reason: "CannotOpen" | "CannotWrite" | "Damaged", work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof StorageError) throw error;
      const { errcode = 0, message } = error as Error & { readonly errcode?: number };
      // The lowest eight bits of SQLite's error code hold the kind of error. The upper bits hold details.
      const kind = errcode & 0xff;
      if (kind === resultCode.busy) {
        const text = `${this.#path} is used by another process; stop that one, or use another directory`;
        throw new StorageError("InUse", text, { cause: error });
      }
      if (kind === resultCode.corrupt || kind === resultCode.notADatabase) throw this.#damaged(message, error);
      const what = reason === "CannotWrite" ? "cannot be written" : "cannot be opened";
      const why = kind === resultCode.full ? "the disk is full" : message;
      throw new StorageError(reason, `${this.#path} ${what}: ${why}`, { cause: error });
    }
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
