/** Runs one tier of tests. */
import { writeFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startGuardedProcess } from "../process/guarded-process.ts";
import { reportFileVariable } from "./count-reporter.ts";
import type { TierRun, TierVerdict } from "./test-counts.ts";
import type { Tier } from "./tiers.ts";

const fileOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** The repository's root. */
export const repositoryRoot = fileOf("../../");

/** How a tier runs beside others. */
export interface Beside {
  /** The file of its output. */
  readonly file: string;
  /**
   * If set, the tier has low priority, and its time limit counts from when this resolves. Until then it gets only the
   * processor time that the others leave, which may be none.
   */
  readonly givesWayUntil?: Promise<unknown> | undefined;
}

/** The options of one run of vitest. */
export interface RunTierOptions {
  /** Only files whose path holds one of these texts; empty: all files. */
  readonly filters: readonly string[];
  /** Further environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends the run early. */
  readonly signal: AbortSignal;
  /** The tier runs beside others: its output goes into this file. @default it goes into our own output */
  readonly beside?: Beside;
}

/** Runs a tier with its own vitest. It never rejects because of a test. */
export async function runTier(tier: Tier, options: RunTierOptions): Promise<TierRun> {
  const { filters, env, signal, beside } = options;
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-test-"));
  const reportFile = path.join(directory, "report.json");
  const vitest = path.join(path.dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))), "vitest.mjs");
  // Tests start the same programs often. Node compiles each once. Those in Go collect garbage less often.
  const savings = { NODE_COMPILE_CACHE: path.join(directory, "compiled"), GOGC: "400" };
  const reporters = ["--reporter=default", `--reporter=${fileOf("./count-reporter.ts")}`];
  try {
    const child = await startGuardedProcess({
      command: process.execPath,
      args: [vitest, "run", "--project", tier.name, ...reporters, ...filters],
      cwd: repositoryRoot,
      env: { ...process.env, ...savings, ...env, [reportFileVariable]: reportFile },
      output: beside === undefined ? "inherit" : { file: beside.file },
    });
    if (beside?.givesWayUntil !== undefined) giveWay(child.pid);
    let endedBecause: string | undefined;
    const end = (why: string) => {
      endedBecause ??= why;
      void child.stop();
    };
    const onAbort = () => end("it was interrupted");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const late = () => end(`it was not done after ${tier.deadlineMs / 60_000} minutes`);
    let hasEnded = false;
    let timer: NodeJS.Timeout | undefined;
    void Promise.resolve(beside?.givesWayUntil).then(() => {
      if (!hasEnded) timer = setTimeout(late, tier.deadlineMs);
    });
    const { code } = await child.exited;
    hasEnded = true;
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    return { report: await readReport(reportFile), exitCode: code, endedBecause };
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * Lowers the priority of a process and of the processes that it starts. Linux compares priorities of processes only
 * within a session, and it gives each session a priority of its own (autogroup). So both are lowered.
 */
function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // The process has ended, and its exit code says why; or this system has no autogroup.
  }
}

/** Whether a tier has a test file whose path holds one of the filters. @throws Error when the tier's folder is missing */
export async function hasTestFiles(tier: Pick<Tier, "name">, filters: readonly string[]): Promise<boolean> {
  const folder = path.join("test", tier.name);
  const names = await readdir(path.join(repositoryRoot, folder), { recursive: true });
  const files = names.filter((name) => name.endsWith(".test.ts")).map((name) => path.join(folder, name));
  return files.some((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)));
}

async function readReport(file: string): Promise<TierVerdict | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as TierVerdict;
  } catch {
    return undefined;
  }
}
