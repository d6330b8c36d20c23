import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

/** How a guarded process ended: an exit code, or the signal that ended it. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What to run, and where its output goes. */
export interface GuardedProcessOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Whole environment of the child. @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /**
   * "pipe": readable as `stdout` and `stderr`, and must be read, or the child stops when the pipe is full.
   * "inherit": to ours. A file name: both are appended to it.
   *
   * @default "pipe"
   */
  readonly output?: "pipe" | "inherit" | { readonly file: string };
  /** Time between SIGTERM and SIGKILL when it is stopped. @default 10_000 */
  readonly graceMs?: number;
}

/**
 * A child process that cannot outlive us.
 *
 * Guarantees: when this process stops it, exits, crashes or is killed with SIGKILL, the child and what it started
 * are sent SIGTERM and, `graceMs` later, SIGKILL. Between the two stands a small watchdog process
 * (`watchdog.ts`) that waits for the end of its standard input, which the kernel closes however we die.
 * Not covered: SIGKILL of the watchdog itself.
 */
export interface GuardedProcess {
  /** The child's own process id (not the watchdog's), also the id of its process group. */
  readonly pid: number;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Settles once, when the child has ended and its output is complete. Never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Ends the child and waits until it is gone. Harmless when it has ended already. */
  stop(): Promise<ProcessExit>;
  /** Sends a signal to the child alone. False when it has ended already. */
  kill(signal: NodeJS.Signals): boolean;
}

type WatchdogReport =
  | { readonly kind: "started"; readonly pid: number }
  | { readonly kind: "failed"; readonly message: string }
  | ({ readonly kind: "ended" } & ProcessExit);

/**
 * Starts a child process under a watchdog.
 *
 * @returns once the child runs.
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
      // A group of its own: Ctrl-C in a terminal reaches us, and we decide when the child ends.
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
  // The pipe may break when the child ends first; its end is reported through the channel.
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
