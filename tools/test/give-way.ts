/** Gives a process low priority. */
import { writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";

/**
 * Lowers the priority of a process and of the processes that it starts. Linux compares priorities of processes only
 * within a session, and it gives each session a priority of its own (autogroup). So both are lowered.
 */
export function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // The process has ended, and its exit code says why; or this system has no autogroup.
  }
}
