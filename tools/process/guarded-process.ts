/** Starts child processes that never outlive this process. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

/** How a process ended: its exit code, or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The command to run, and its output. */
export interface GuardedProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child. @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /**
   * "pipe": `stdout` and `stderr` can be read. They must be read, because the child stops when the pipe is full.
   * "inherit": the output goes to that of this process. A file name: both are appended to the file.
   * @default "pipe"
   */
  readonly output?: "pipe" | "inherit" | { readonly file: string };
  /** The time between SIGTERM and SIGKILL when the child is stopped. @default 10_000 */
  readonly graceMs?: number;
}

/**
 * A child process that never outlives this process.
 * Guarantees: when this process stops the child or ends in any way, also by SIGKILL, the child and everything that it
 * started get SIGTERM. `graceMs` later they get SIGKILL. A small process between the two (`watchdog.ts`) waits for
 * the end of its standard input. The kernel closes that input when this process ends in any way.
 * Not covered: SIGKILL of the watchdog itself.
 */
export interface GuardedProcess {
  /** The process id of the child, not of the watchdog. It is also the id of its process group. */
  readonly pid: number;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Resolves once, when the child has ended and its output is complete. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Ends the child and waits until it has ended. If it has ended already, nothing happens. */
  stop(): Promise<ProcessExit>;
  /** Sends a signal only to the child. @returns false if the child has ended already */
  kill(signal: NodeJS.Signals): boolean;
}

type WatchdogReport =
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "failed"; readonly message: string }
  | ({ readonly kind: "ended" } & ProcessExit);

/**
 * Starts a child process with a watchdog.
 * @returns when the child runs.
 * @throws Error when the command cannot be started (not found, not executable).
 */
export async function startGuardedProcess(options: GuardedProcessOptions): Promise<GuardedProcess> {
  const watchdog = spawnWatchdog(options);
  const reports = readReports(watchdog);
  const first = await reports.first;
  if (first === undefined || first.kind !== "started") {
    const reason = first?.kind === "failed" ? first.message : "its watchdog ended without a report";
    throw new Error(`Cannot start ${options.command}: ${reason}`);
  }
  let hasEnded = false;
  const exited = reports.exited.then((exit) => {
    hasEnded = true;
    return exit;
  });
  return {
    pid: first.pid,
    stdout: watchdog.stdout,
    stderr: watchdog.stderr,
    exited,
    stop() {
      watchdog.stdin?.destroy();
      return exited;
    },
    kill(signal) {
      if (hasEnded) return false;
      try {
        return process.kill(first.pid, signal);
      } catch {
        return false;
      }
    },
  };
}

function spawnWatchdog(options: GuardedProcessOptions): ChildProcess {
  const watchdogFile = fileURLToPath(new URL("./watchdog.ts", import.meta.url));
  const { output: target = "pipe" } = options;
  const log = typeof target === "string" ? undefined : openSync(target.file, "a");
  try {
    const output = typeof target === "string" ? target : log;
    const graceMs = String(options.graceMs ?? 10_000);
    return spawn(process.execPath, [watchdogFile, graceMs, options.command, ...options.args], {
      stdio: ["pipe", output, output, "pipe"],
      // With a process group of its own, Ctrl-C in a terminal reaches only this process, which then decides when the
      // child ends.
      detached: true,
      env: options.env ?? process.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

function readReports(watchdog: ChildProcess): {
  readonly first: Promise<WatchdogReport | undefined>;
  readonly exited: Promise<ProcessExit>;
} {
  const channel = watchdog.stdio[3] as Readable;
  const reports: WatchdogReport[] = [];
  let buffered = "";
  const first = Promise.withResolvers<WatchdogReport | undefined>();
  const exited = Promise.withResolvers<ProcessExit>();
  channel.setEncoding("utf8");
  channel.on("data", (chunk: string) => {
    buffered += chunk;
    const lines = buffered.split("\n");
    buffered = lines.pop() ?? "";
    for (const line of lines) reports.push(JSON.parse(line) as WatchdogReport);
    if (reports[0] !== undefined) first.resolve(reports[0]);
  });
  // If the child ends first, this pipe may break. Its end is reported on another channel.
  watchdog.stdin?.on("error", () => {});
  watchdog.on("error", (error) => {
    first.resolve({ kind: "failed", message: error.message });
    exited.resolve({ code: 1, signal: null });
  });
  watchdog.on("close", (code, signal) => {
    first.resolve(undefined);
    const ended = reports.find((report) => report.kind === "ended");
    exited.resolve(ended === undefined ? { code, signal } : { code: ended.code, signal: ended.signal });
  });
  return { first: first.promise, exited: exited.promise };
}
