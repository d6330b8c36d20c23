// Runs random simulations: `npm run simulate -- --seeds 100000 [--from 1]`, or prints one: `npm run simulate -- --seed N`.
import { parseArgs } from "node:util";
import { faultUnits } from "../../test/simulation/workloads/fault-plans.ts";
import { randomPlans } from "../../test/simulation/workloads/random-runs.ts";
import { chains } from "../../test/simulation/workloads/transitions.ts";
import { runTool, UsageError } from "../process/command-line.ts";
import { type Range, runInThreads } from "./pool.ts";
import { printRun } from "./print-run.ts";

const usage = `Usage: npm run simulate -- --seeds COUNT [--from SEED] [WORKLOAD] [--known]
       npm run simulate -- --seed SEED [WORKLOAD] [--whole] [--resource NAME]
       npm run simulate -- --faults | --transitions

The first form runs random simulations and lists the seeds that break a promise; --known also lists known failures.
WORKLOAD is one of --accesses, --branches, --planes, --usage, --amnesia and --disruption.
With --accesses a project has DatabaseAccesses beside its ComputeEndpoints. With --branches it has previews
of a parent. With --planes resources use ControlPlanes
and ClusterControlPlanes. With --usage computes start and suspend. With --amnesia the operator forgets everything about a
project before some reconciles, in every workload. With --disruption changes wait for windows and approvals, over hours.
The second form makes one run as short as it can be made, and prints what happens in it; --whole does not shorten it,
--resource leaves out what concerns other resources only.
The third form runs every single fault of every workload, or every transition of spec.`;

async function main(args: readonly string[], signal: AbortSignal): Promise<number> {
  signal.addEventListener("abort", () => process.exit(130));
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      accesses: { type: "boolean", default: false },
      branches: { type: "boolean", default: false },
      planes: { type: "boolean", default: false },
      usage: { type: "boolean", default: false },
      amnesia: { type: "boolean", default: false },
      disruption: { type: "boolean", default: false },
      from: { type: "string", default: "1" },
      known: { type: "boolean", default: false },
      faults: { type: "boolean", default: false },
      transitions: { type: "boolean", default: false },
      whole: { type: "boolean", default: false },
      resource: { type: "string" },
    },
  });
  const task = taskOf(values);
  if (values.seed !== undefined)
    return await printRun(randomPlans[task](numberOf(values.seed)), {
      isWhole: values.whole,
      resource: values.resource,
    });
  if (values.faults) return await runAll({ task: "Faults", from: 0, count: faultUnits.length }, values.known);
  if (values.transitions) return await runAll({ task: "Chains", from: 0, count: chains.length }, values.known);
  if (values.seeds === undefined) throw new UsageError("One of --seeds, --seed, --faults and --transitions is needed.");
  const range = { task, from: numberOf(values.from), count: numberOf(values.seeds), batch: 25 } as const;
  return await runAll(range, values.known);
}

function taskOf(
  chosen: Readonly<Record<"accesses" | "branches" | "planes" | "usage" | "amnesia" | "disruption", boolean>>,
): keyof typeof randomPlans {
  if (chosen.amnesia) return "Amnesia";
  if (chosen.usage) return "Usage";
  if (chosen.disruption) return "Disruption";
  if (chosen.branches) return "Branches";
  return chosen.planes ? "Planes" : chosen.accesses ? "Accesses" : "Seeds";
}

async function runAll({ task, from, count, batch = 1 }: Range, showsKnown: boolean): Promise<number> {
  const startedMs = performance.now();
  const failed = new Map<string, string[]>();
  const isRandom = task in randomPlans;
  let runs = 0;
  let known = 0;
  let broken = 0;
  await runInThreads({ task, from, count, batch }, (report) => {
    runs += report.count;
    known += report.known.length;
    const shown = showsKnown ? [...report.problems, ...report.known] : report.problems;
    if (shown.length > 0) broken += 1;
    // A long run prints problems as soon as it finds them.
    for (const problem of shown) console.error(`${report.name}: ${problem}`);
    for (const problem of shown) {
      const words = isRandom ? problem.replaceAll(/\d+/g, "N") : problem;
      const names = failed.get(words) ?? [];
      if (!names.includes(report.name)) failed.set(words, [...names, report.name]);
    }
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const [words, names] of [...failed].sort(([, a], [, b]) => b.length - a.length)) {
    console.log(isRandom ? `${names.length} seeds, for instance ${names.slice(0, 5).join(", ")}: ${words}` : words);
  }
  const rate = (runs / seconds).toFixed(1);
  console.log(
    `${runs} in ${seconds.toFixed(1)} s, ${rate} a second; ${broken} of ${count} break a promise${showsKnown ? "" : ` anew; ${known} violations are known`}`,
  );
  return broken === 0 ? 0 : 1;
}

function numberOf(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new UsageError(`${text} is not a whole number.`);
  return value;
}

await runTool({ usage, main });
