import { mkdir } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { notWritable } from "./asset-cache.ts";
import { AssetError } from "./asset-error.ts";
import type { ProgressSink } from "./progress.ts";

/** How long to wait for another process, and where to say so. */
export interface CacheLockOptions {
  /** @default 1_800_000: several cold builds one after the other */
  readonly waitMs?: number;
  /** @default 250 */
  readonly pollMs?: number;
  readonly progress: ProgressSink;
  readonly signal?: AbortSignal | undefined;
}

/** How often a waiting process says that it waits. */
const repeatMs = 10_000;

/**
 * Runs `work` while no other process on this machine makes anything in the same cache.
 *
 * The lock is the kernel's own file lock, held through an empty SQLite file, so that it ends with the process that
 * holds it, however that ends: there is no stale lock to judge by a process id that another process may have by now.
 *
 * @throws AssetError `Locked` when it cannot be had within `waitMs`, `CacheNotWritable`, `Interrupted`.
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

/** SQLite's result codes SQLITE_BUSY (5) and its extended forms carry 5 in the low byte. */
function isBusy(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" && (code & 0xff) === 5;
}
