// Runs random simulations: `npm run simulate -- --seeds 100000 [--from 1]`, or tells one: `npm run simulate -- --seed N`.
import { parseArgs } from "node:util";
import { isUsageError, UsageError } from "../process/usage-error.ts";
import { runSeeds } from "./seed-pool.ts";
import { tellSeed } from "./tell-seed.ts";

const usage = `Usage: npm run simulate -- --seeds COUNT [--from SEED] [--known]
       npm run simulate -- --seed SEED [--whole]

The first form runs random simulations and lists the seeds that break a promise; --known also lists known failures.
The second form makes one run as short as it can be made, and tells what happens in it; --whole does not shorten it.`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      from: { type: "string", default: "1" },
      known: { type: "boolean", default: false },
      whole: { type: "boolean", default: false },
    },
  });
  if (values.seed !== undefined) return await tellSeed(numberOf(values.seed), { isWhole: values.whole });
  if (values.seeds === undefined) throw new UsageError("Either --seeds or --seed is needed.");
  return await runAll(numberOf(values.from), numberOf(values.seeds), values.known);
}

async function runAll(from: number, count: number, showsKnown: boolean): Promise<number> {
  const startedMs = performance.now();
  const failed = new Map<string, Set<number>>();
  let known = 0;
  await runSeeds({ from, count }, ({ seed, violations }) => {
    for (const { promise, text, isKnown } of violations) {
      if (isKnown) known += 1;
      if (isKnown && !showsKnown) continue;
      const words = `${promise}: ${text.replaceAll(/\d+/g, "N")}`;
      failed.set(words, (failed.get(words) ?? new Set()).add(seed));
    }
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const [words, seeds] of [...failed].sort(([, a], [, b]) => b.size - a.size)) {
    console.log(`${seeds.size} seeds, for instance ${[...seeds].slice(0, 5).join(", ")}: ${words}`);
  }
  const broken = new Set([...failed.values()].flatMap((seeds) => [...seeds])).size;
  console.log(
    `${count} seeds in ${seconds.toFixed(1)} s, ${(count / seconds).toFixed(1)} a second; ${broken} break a promise${showsKnown ? "" : ` anew, ${known} violations are known`}`,
  );
  return broken === 0 ? 0 : 1;
}

function numberOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new UsageError(`${text} is not a whole number.`);
  return value;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(isUsageError(error) ? `${error.message}\n\n${usage}` : error);
  process.exitCode = isUsageError(error) ? 2 : 1;
}
