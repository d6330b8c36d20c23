/** Ends servers that a killed sandbox has left behind. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { kill as signalProcess } from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { ComputeSetupError } from "../postgres/compute-error.ts";

const run = promisify(execFile);

/** The time limit for the end of a server after each signal, in milliseconds. */
const patienceMs = 10_000;

/**
 * Ends the server that still uses a data directory, if there is one. Committed data is kept: the next server recovers
 * it from the write-ahead log.
 * @throws ComputeSetupError when the server does not end
 */
export async function endOldServer(dataDirectory: string): Promise<void> {
  const pid = pidOf(dataDirectory);
  if (pid === undefined || !(await isServerOf(pid, dataDirectory))) return;
  for (const signal of ["SIGQUIT", "SIGKILL"] as const) {
    send(pid, signal);
    if (await endsWithin(pid, dataDirectory)) return;
  }
  throw new ComputeSetupError(
    `process ${pid} still uses ${dataDirectory} and cannot be ended; end it, then start again`,
  );
}

function pidOf(dataDirectory: string): number | undefined {
  const file = path.join(dataDirectory, "postmaster.pid");
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  return Number.isInteger(pid) && pid > 1 ? pid : undefined;
}

/**
 * Whether a process is the server of the data directory. After a crash, the system may have given the pid to another
 * process.
 */
async function isServerOf(pid: number, dataDirectory: string): Promise<boolean> {
  try {
    const { stdout } = await run("ps", ["-o", "command=", "-ww", "-p", String(pid)], { timeout: 5_000 });
    return stdout.includes(dataDirectory);
  } catch (error) {
    // Small images have no `ps`. Then Linux shows the command line in /proc.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return false;
    const file = `/proc/${pid}/cmdline`;
    return existsSync(file) && readFileSync(file, "utf8").includes(dataDirectory);
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    signalProcess(pid, signal);
  } catch {
    // The server has just ended.
  }
}

async function endsWithin(pid: number, dataDirectory: string): Promise<boolean> {
  const untilMs = performance.now() + patienceMs;
  while (performance.now() < untilMs) {
    if (!(await isServerOf(pid, dataDirectory))) return true;
    await wait(20);
  }
  return false;
}
