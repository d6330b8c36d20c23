import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { startGuardedProcess } from "../process/guarded-process.ts";
import { reportFileVariable } from "./count-reporter.ts";
import type { TierReport, TierRun } from "./test-counts.ts";
import type { Tier } from "./tiers.ts";

const fileOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

/** The repository's root. */
export const repositoryRoot = fileOf("../../");

/** One run of vitest over one tier. */
export interface RunTierOptions {
  /** Only files whose path holds one of these; all when empty. */
  readonly filters: readonly string[];
  /** Environment variables over ours. */
  readonly env: Readonly<Record<string, string>>;
  /** Ends it early. */
  readonly signal: AbortSignal;
  /** The tier runs at low priority, and its output goes into this file. @default high enough, and our own output */
  readonly besideFile?: string;
}

/** Runs a tier in a vitest of its own, whose output is ours; never rejects because of what a test does. */
export async function runTier(tier: Tier, options: RunTierOptions): Promise<TierRun> {
  const { filters, env, signal, besideFile } = options;
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-test-"));
  const reportFile = path.join(directory, "report.json");
  const vitest = path.join(path.dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))), "vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${fileOf("./count-reporter.ts")}`];
  try {
    const child = await startGuardedProcess({
      command: process.execPath,
      args: [vitest, "run", "--project", tier.name, ...reporters, ...filters],
      cwd: repositoryRoot,
      env: { ...process.env, ...env, [reportFileVariable]: reportFile },
      output: besideFile === undefined ? "inherit" : { file: besideFile },
    });
    if (besideFile !== undefined) giveWay(child.pid);
    let endedBecause: string | undefined;
    const end = (why: string) => {
      endedBecause ??= why;
      void child.stop();
    };
    const onAbort = () => end("it was interrupted");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const deadline = setTimeout(
      () => end(`it was not done after ${tier.deadlineMs / 60_000} minutes`),
      tier.deadlineMs,
    );
    const { code } = await child.exited;
    clearTimeout(deadline);
    signal.removeEventListener("abort", onAbort);
    return { report: await readReport(reportFile), exitCode: code, endedBecause };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Lowers the priority of a process, which the processes that it starts inherit. One that has ended already stays ended. */
function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It has ended, and its exit code says why.
  }
}

/** Whether a tier has a test file whose path holds one of the filters. @throws Error when the tier's folder is missing */
export async function hasTestFiles(tier: Pick<Tier, "name">, filters: readonly string[]): Promise<boolean> {
  const folder = path.join("test", tier.name);
  const names = await readdir(path.join(repositoryRoot, folder), { recursive: true });
  const files = names.filter((name) => name.endsWith(".test.ts")).map((name) => path.join(folder, name));
  return files.some((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)));
}

async function readReport(file: string): Promise<TierReport | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as TierReport;
  } catch {
    return undefined;
  }
}
