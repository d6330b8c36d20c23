/** Locks a cache against other processes. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { waitUntil } from "../process/wait-until.ts";
import type { ProgressSink } from "./progress.ts";

/** The longest wait for another process. It is enough for several builds one after the other. */
const timeoutMs = 1_800_000;

/** The low byte of SQLITE_BUSY and of its extended codes: another process holds the lock. */
const busy = 5;

/**
 * Runs `work` while no other process on this machine changes the same cache.
 * The lock is a file lock of the kernel, held through an empty SQLite file. It ends when its process ends in any way.
 * So there is no stale lock, and no process id that another process may have by now.
 */
export async function withCacheLock<T>(
  cache: string,
  { progress, signal }: { readonly progress: ProgressSink; readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(cache, { recursive: true });
  const database = new DatabaseSync(path.join(cache, "lock.sqlite"), { timeout: 0 });
  try {
    const what = `another process has made its files in ${cache}`;
    if (!isAcquired(database)) {
      progress(`Waiting until ${what}`);
      const wait = { what, timeoutMs, pauseMs: 250, ...(signal && { signal }) };
      await waitUntil(() => isAcquired(database) || undefined, wait);
    }
    return await work();
  } finally {
    database.close();
  }
}

function isAcquired(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (((error as { readonly errcode?: number }).errcode ?? 0) % 256 !== busy) throw error;
    return false;
  }
}
