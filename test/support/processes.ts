/** Questions about processes that a test started. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { waitUntil } from "./wait-until.ts";

/** Whether a process with this id exists. An ended process still exists until its parent has read its exit code. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until no process with this id exists. @throws NotInTimeError */
export async function waitUntilGone(pid: number): Promise<void> {
  await waitUntil(() => !isAlive(pid) || undefined, { what: `process ${pid} has ended` });
}

/** Returns the command lines of all processes that name this folder. */
export function commandLinesNaming(folder: string): readonly string[] {
  const lines =
    process.platform === "linux"
      ? readdirSync("/proc")
          .filter((name) => /^\d+$/.test(name))
          .map(commandLineOf)
      : execFileSync("ps", ["-A", "-ww", "-o", "args="], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.includes(folder));
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // The process has ended meanwhile.
    return "";
  }
}
