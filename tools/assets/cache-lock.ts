/** Locks the cache of binaries against other processes. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { notWritable } from "./asset-cache.ts";
import { AssetError } from "./asset-error.ts";
import type { ProgressSink } from "./progress.ts";

/** How long to wait for another process, and where to report the wait. */
interface CacheLockOptions {
  /** The longest wait. It is enough for several builds one after the other. @default 1_800_000 */
  readonly waitMs?: number;
  /** The interval between two attempts. @default 250 */
  readonly pollMs?: number;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/** The interval at which a waiting process reports that it waits. */
const repeatMs = 10_000;

/**
 * Runs `work` while no other process on this machine changes the same cache.
 * The lock is a file lock of the kernel, held through an empty SQLite file. It ends when its process ends in any way.
 * So there is no stale lock, and no process id that another process may have by now.
 * @throws AssetError `Locked` when the lock is not free within `waitMs`, `CacheNotWritable`, `Interrupted`.
 */
export async function withCacheLock<T>(cache: string, options: CacheLockOptions, work: () => Promise<T>): Promise<T> {
  const database = await openLockFile(cache);
  try {
    await acquire(database, cache, options);
    return await work();
  } finally {
    database.close();
  }
}

async function openLockFile(cache: string): Promise<DatabaseSync> {
  try {
    await mkdir(cache, { recursive: true });
    return new DatabaseSync(path.join(cache, "lock.sqlite"), { timeout: 0 });
  } catch (error) {
    throw notWritable(cache, error);
  }
}

async function acquire(database: DatabaseSync, cache: string, options: CacheLockOptions): Promise<void> {
  const { waitMs = 1_800_000, pollMs = 250, progress, signal } = options;
  const startMs = performance.now();
  let nextLineMs = startMs;
  while (!isAcquired(database, cache)) {
    const nowMs = performance.now();
    if (signal?.aborted) throw new AssetError("Interrupted", "Interrupted while waiting for another process.");
    if (nowMs - startMs >= waitMs) {
      const waited = `${Math.round(waitMs / 1000)} s`;
      throw new AssetError(
        "Locked",
        `Another process has been making binaries in ${cache} for over ${waited}. End it and try again.`,
      );
    }
    if (nowMs >= nextLineMs) {
      progress(
        `Waiting for another process that makes binaries in ${cache}, ${Math.round((nowMs - startMs) / 1000)} s so far`,
      );
      nextLineMs = nowMs + repeatMs;
    }
    await delay(pollMs);
  }
}

function isAcquired(database: DatabaseSync, cache: string): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (isBusy(error)) return false;
    throw notWritable(cache, error);
  }
}

/** The low byte of SQLITE_BUSY and of its extended codes is 5. */
function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" && (code & 0xff) === 5;
}
