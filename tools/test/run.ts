// Runs every tier of tests and ends with one line of counts: `npm test -- [--tier NAME]... [FILE]...`.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { AssetError } from "../assets/asset-error.ts";
import type { AssetName } from "../assets/asset-table.ts";
import { resolveAssets } from "../assets/resolve-assets.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { judgeOutputs } from "./judge-outputs.ts";
import { hasTestFiles, type RunTierOptions, runTier } from "./run-tier.ts";
import { type OutputMarks, outputsVariable } from "./search-outputs.ts";
import {
  addCounts,
  countSkippedAsFailed,
  judgeTier,
  noTests,
  summaryLine,
  type TestCounts,
  type TierVerdict,
} from "./test-counts.ts";
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
  for await (const { tier, verdict } of verdictsOf(chosen, { filters, env, signal })) {
    if (filters.length === 0 && leavesAll(tier, verdict.counts)) expected.push(tier.leaves ?? {});
    const counts = isCi ? countSkippedAsFailed(verdict.counts) : verdict.counts;
    const isSkipFailed = isCi && verdict.counts.skipped > 0;
    notes.push(...verdict.problems.map((problem) => `${tier.name}: ${problem}`));
    if (isSkipFailed) notes.push(`${tier.name}: ${verdict.counts.skipped} skipped, which with CI=true is a failure`);
    total = addCounts(total, counts);
  }
  const { counts, problems } = await judgeOutputs(outputs, signal.aborted ? [] : expected);
  notes.push(...problems.map((problem) => `outputs of operators: ${problem}`));
  return conclude(addCounts(total, counts), notes);
}

interface Judged {
  readonly tier: Tier;
  readonly verdict: TierVerdict;
}

/**
 * Runs the queues of tiers beside each other. The output of the first queue is shown while it runs. The output of the
 * others is shown when a tier of the first queue has ended, so that outputs do not mix.
 */
async function* verdictsOf(chosen: readonly Tier[], options: RunTierOptions): AsyncGenerator<Judged> {
  const [front, ...others] = queues
    .map((queue) => ({ queue, tiers: chosen.filter((tier) => tier.queue === queue) }))
    .filter((each) => each.tiers.length > 0);
  const othersDone = Promise.withResolvers<void>();
  const end = new AbortController();
  const signal = AbortSignal.any([options.signal, end.signal]);
  const done: (Judged & { readonly output: string })[] = [];
  const beside = others.map(async ({ queue, tiers: own }) => {
    const givesWayUntil = queue === "LowPriority" ? othersDone.promise : undefined;
    for (const tier of own) {
      if (!signal.aborted) done.push(await runBeside(tier, { ...options, signal }, givesWayUntil));
    }
  });
  // A failure is thrown where the run is awaited.
  for (const run of beside) run.catch(() => {});
  function* finished(): Generator<Judged> {
    for (const { output, ...judged } of done.splice(0)) {
      console.log(`\n== ${judged.tier.name}, beside the others ==\n${output}`);
      yield judged;
    }
  }
  try {
    for (const tier of front?.tiers ?? []) {
      if (signal.aborted) break;
      console.log(`\n== ${tier.name} ==`);
      yield { tier, verdict: await judge(tier, { ...options, signal }) };
      yield* finished();
    }
    const ordinary = beside.filter((_, index) => others[index]?.queue !== "LowPriority");
    void Promise.allSettled(ordinary).then(() => othersDone.resolve());
    for (const run of beside) {
      await run;
      yield* finished();
    }
  } finally {
    end.abort();
    await Promise.allSettled(beside);
  }
}

/** The limit for shown output. A tier whose tests all fail prints less. */
const shownOutputLength = 1_000_000;

async function runBeside(
  tier: Tier,
  options: RunTierOptions,
  givesWayUntil: Promise<void> | undefined,
): Promise<Judged & { readonly output: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), "endpoint-operator-beside-"));
  const file = path.join(directory, "output.txt");
  try {
    const verdict = await judge(tier, { ...options, beside: { file, givesWayUntil } });
    const output = await readFile(file, "utf8").catch(() => "");
    return { tier, verdict, output: output.slice(-shownOutputLength) };
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
  const problem = await whyNoTests(tier, filters);
  if (problem !== undefined) return { counts: { ...noTests, failed: 1 }, problems: [problem] };
  if (!(await hasTestFiles(tier, filters))) return { counts: noTests, problems: [] };
  const missing = await whyMissing(tier.assets, signal);
  if (missing !== undefined) {
    return { counts: { ...noTests, skipped: 1 }, problems: [`skipped, because of a missing tool.\n${missing}`] };
  }
  // If a binary is still missing, the tests that need it are skipped and say so.
  for (const name of tier.wantedAssets ?? []) await whyMissing([name], signal);
  return judgeTier(await runTier(tier, options));
}

/** Returns why a tier has no test to run, which is a failure; `undefined`: it has test files. */
async function whyNoTests(tier: Tier, filters: readonly string[]): Promise<string | undefined> {
  try {
    const isEmpty = filters.length === 0 && !(await hasTestFiles(tier, []));
    return isEmpty ? `there is no test file in test/${tier.name}` : undefined;
  } catch {
    return `there is no folder test/${tier.name}, so nothing of this tier was tested`;
  }
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
