/** Questions about processes that a test started, by their ids. */

import { waitUntil } from "./wait-until.ts";

/** Whether a process with this id exists. An ended process still exists until its parent has read its exit code. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until no process with this id exists. @throws NotInTimeError after 15 s */
export async function waitUntilGone(pid: number): Promise<void> {
  await waitUntil(() => !isAlive(pid) || undefined, { what: `process ${pid} has ended`, timeoutMs: 15_000 });
}
