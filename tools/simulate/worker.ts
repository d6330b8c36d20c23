// Runs simulations in a thread: it receives a `Share` of a task, and sends one report for each item.
import { parentPort } from "node:worker_threads";
import { isKnown } from "../../test/simulation/known-failures.ts";
import { type RunPlan, run } from "../../test/simulation/run/run.ts";
import type { Violation } from "../../test/simulation/run/violation.ts";
import { faultUnits, runFaultUnit } from "../../test/simulation/workloads/fault-plans.ts";
import { randomPlans } from "../../test/simulation/workloads/random-runs.ts";
import { chains, FreshCreates, runChain } from "../../test/simulation/workloads/transitions.ts";

/**
 * `Seeds`: random runs by seed. `Accesses`: the same with DatabaseAccesses. `Branches`: previews with DatabaseBranches. `Planes`: the same with control planes that
 * resources describe. `Usage`: computes that start and suspend. `Amnesia`: any of them, while the operator forgets. `Faults`: units of single faults, by index. `Chains`: chains of transitions, by index.
 */
export type Task = keyof typeof randomPlans | "Faults" | "Chains";

/** Some items of a task, by number. */
export interface Share {
  readonly task: Task;
  readonly first: number;
  readonly beyond: number;
}

/** The result of one item. */
export interface Report {
  /** The seed, or the name of the workload or chain. */
  readonly name: string;
  /** The number of its runs or transitions. */
  readonly count: number;
  /** The broken promises, in words. */
  readonly problems: readonly string[];
  /** The broken promises of known failures. */
  readonly known: readonly string[];
}

// Runs make thousands of expected errors, and their stacks cost 5 % of the time. `--seed` shows the stack of a bug.
Error.stackTraceLimit = 0;

const freshCreates = new FreshCreates();

async function reportOf(task: Task, at: number): Promise<Report> {
  switch (task) {
    case "Seeds":
    case "Accesses":
    case "Branches":
    case "Planes":
    case "Usage":
    case "Amnesia":
    case "Disruption": {
      const plan = randomPlans[task](at);
      return { name: String(at), count: 1, ...sorted((await run(plan)).violations, plan) };
    }
    case "Faults":
      return await reportOfFaults(at);
    case "Chains": {
      const chain = chains[at];
      if (chain === undefined) throw new Error(`there is no chain ${at}`);
      const problems = (await runChain(chain, freshCreates)).map((problem) => `${chain.name}: ${problem}`);
      return { name: chain.name, count: chain.specs.length - 1, problems, known: [] };
    }
  }
}

async function reportOfFaults(at: number): Promise<Report> {
  const unit = faultUnits[at];
  if (unit === undefined) throw new Error(`there is no unit ${at}`);
  const results = await runFaultUnit(unit);
  const problems: string[] = [];
  const known: string[] = [];
  for (const { name, plan, violations, difference } of results) {
    const found = sorted(violations, plan);
    problems.push(...found.problems.map((problem) => `${name}: ${problem}`));
    known.push(...found.known.map((problem) => `${name}: ${problem}`));
    if (difference !== undefined) (found.known.length > 0 ? known : problems).push(`${name}: ${difference}`);
  }
  return { name: `${unit.workload.name}, ${unit.profile}`, count: results.length, problems, known };
}

function sorted(violations: readonly Violation[], plan: RunPlan): Pick<Report, "problems" | "known"> {
  const words = (some: readonly Violation[]) => some.map(({ promise, text }) => `${promise}: ${text}`);
  return {
    problems: words(violations.filter((violation) => !isKnown(violation, plan))),
    known: words(violations.filter((violation) => isKnown(violation, plan))),
  };
}

parentPort?.on("message", async ({ task, first, beyond }: Share) => {
  const reports: Report[] = [];
  for (let at = first; at < beyond; at += 1) reports.push(await reportOf(task, at));
  parentPort?.postMessage(reports);
});
