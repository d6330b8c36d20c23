// Runs every tier of tests and ends with one line of counts: `npm test -- [--tier NAME]... [FILE]...`.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import type { AssetName } from "../assets/asset-table.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { hasTestFiles, type RunTierOptions, runTier } from "./run-tier.ts";
import { judgeOutputs, type OutputMarks, outputsVariable } from "./search-outputs.ts";
import { addCounts, judgeTier, noTests, summaryLine, type TestCounts, type TierVerdict } from "./test-counts.ts";
import { leavesAll, queues, type Tier, tiers } from "./tiers.ts";

const usage = `Usage: npm test -- [--tier NAME]... [FILE]...

Runs all tiers (${tiers.map(({ name }) => name).join(", ")}), or the named ones; FILE is part of a test file's path.
With CI=true a skipped tier or test is a failure.`;

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  const { values, positionals: filters } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { tier: { type: "string", multiple: true, default: [] } },
  });
  const chosen = chooseTiers(values.tier);
  const isCi = process.env.CI === "true";
  const notes: string[] = [];
  let total = noTests;
  const outputs = await mkdtemp(path.join(tmpdir(), "endpoint-operator-outputs-"));
  const env = { [outputsVariable]: outputs };
  const expected: OutputMarks[] = [];
  await runTiers(chosen, { filters, env, signal }, (tier, { counts, problems }) => {
    if (filters.length === 0 && leavesAll(tier, counts)) expected.push(tier.leaves ?? {});
    notes.push(...problems.map((problem) => `${tier.name}: ${problem}`));
    if (isCi && counts.skipped > 0) notes.push(`${tier.name}: ${counts.skipped} skipped, with CI=true a failure`);
    total = addCounts(total, isCi ? { ...counts, failed: counts.failed + counts.skipped, skipped: 0 } : counts);
  });
  const { counts, problems } = await judgeOutputs(outputs, signal.aborted ? [] : expected);
  notes.push(...problems.map((problem) => `outputs of operators: ${problem}`));
  return conclude(addCounts(total, counts), notes);
}

/**
 * Runs the queues of tiers beside each other. The output of the first queue is shown while it runs. The output of the
 * others is shown when a tier of the first queue has ended, so that outputs do not mix.
 */
async function runTiers(
  chosen: readonly Tier[],
  options: RunTierOptions,
  onVerdict: (tier: Tier, verdict: TierVerdict) => void,
): Promise<void> {
  const [front = [], ...others] = queues
    .map((queue) => chosen.filter((tier) => tier.queue === queue))
    .filter((own) => own.length > 0);
  const end = new AbortController();
  const signal = AbortSignal.any([options.signal, end.signal]);
  const waiting: (() => void)[] = [];
  let isFrontDone = false;
  const showWaiting = () => {
    for (const show of waiting.splice(0)) show();
  };
  const runQueue = async (own: readonly Tier[], givesWayUntil?: Promise<unknown>) => {
    for (const tier of own) {
      if (signal.aborted) return;
      const { verdict, output } = await runBeside(tier, { ...options, signal }, givesWayUntil);
      waiting.push(() => {
        console.log(`\n== ${tier.name}, beside the others ==\n${output}`);
        onVerdict(tier, verdict);
      });
      if (isFrontDone) showWaiting();
    }
  };
  const runFront = async () => {
    for (const tier of front) {
      if (signal.aborted) return;
      console.log(`\n== ${tier.name} ==`);
      onVerdict(tier, await judge(tier, { ...options, signal }));
      showWaiting();
    }
    isFrontDone = true;
    showWaiting();
  };
  const isLow = ([first]: readonly Tier[]) => first?.queue === "LowPriority";
  const ordinary = [runFront(), ...others.filter((own) => !isLow(own)).map((own) => runQueue(own))];
  const low = others.filter(isLow).map((own) => runQueue(own, Promise.allSettled(ordinary)));
  try {
    await Promise.all([...ordinary, ...low]);
  } finally {
    end.abort();
    await Promise.allSettled([...ordinary, ...low]);
    showWaiting();
  }
}

/** The limit for shown output. A tier whose tests all fail prints less. */
const shownOutputLength = 1_000_000;

async function runBeside(tier: Tier, options: RunTierOptions, givesWayUntil: Promise<unknown> | undefined) {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-beside-"));
  const file = path.join(directory, "output.txt");
  try {
    const verdict = await judge(tier, { ...options, beside: { file, givesWayUntil } });
    const output = await readFile(file, "utf8").catch(() => "");
    return { verdict, output: output.slice(-shownOutputLength) };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function chooseTiers(names: readonly string[]): readonly Tier[] {
  const unknown = names.find((name) => !tiers.some((tier) => tier.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no tier ${unknown}.`);
  return names.length === 0 ? tiers : tiers.filter((tier) => names.includes(tier.name));
}

async function judge(tier: Tier, options: RunTierOptions): Promise<TierVerdict> {
  const { filters, signal } = options;
  // A tier without any test file is a failure. A tier without a file that the filters name is not run.
  const isEmpty = !(await hasTestFiles(tier, []).catch(() => false));
  if (isEmpty) return { counts: { ...noTests, failed: 1 }, problems: [`there is no test file in test/${tier.name}`] };
  if (!(await hasTestFiles(tier, filters))) return { counts: noTests, problems: [] };
  const missing = await whyMissing(tier.assets, signal);
  if (missing !== undefined) {
    return { counts: { ...noTests, skipped: 1 }, problems: [`skipped, because of a missing tool.\n${missing}`] };
  }
  // If a binary is still missing, the tests that need it are skipped and say so.
  for (const name of tier.wantedAssets ?? []) await whyMissing([name], signal);
  return judgeTier(await runTier(tier, options));
}

/** Finds or makes binaries. @returns why that is not possible, and what to do; `undefined`: they are available */
async function whyMissing(assets: readonly AssetName[], signal: AbortSignal): Promise<string | undefined> {
  try {
    await resolveAssets(assets, { progress: (line) => console.log(line), signal });
    return undefined;
  } catch (error) {
    if (!(error instanceof AssetError)) throw error;
    return error.message;
  }
}

function conclude(total: TestCounts, notes: readonly string[]): number {
  const ranNothing = total.passed + total.failed + total.skipped === 0;
  const counts = ranNothing ? { ...noTests, failed: 1 } : total;
  if (ranNothing) notes = [...notes, "no test ran at all"];
  console.log(notes.length === 0 ? "" : `\n${notes.join("\n")}\n`);
  console.log(summaryLine(counts));
  return counts.failed === 0 ? 0 : 1;
}

/** Also after an error, the last line has the counts: it comes after the message of the error. */
async function mainWithLastLine(args: readonly string[], signal: AbortSignal): Promise<number> {
  try {
    return await main(args, signal);
  } catch (error) {
    process.once("exit", () => console.log(summaryLine({ ...noTests, failed: 1 })));
    throw error;
  }
}

await runTool({ usage, main: mainWithLastLine });
