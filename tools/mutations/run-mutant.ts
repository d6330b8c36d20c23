// Runs one test of the simulation in a copy of the repository whose `src` is weakened, and prints the found problems as
// JSON.
import { namedCases } from "../../test/simulation/cases/all-cases.ts";
import { run } from "../../test/simulation/run/run.ts";
import { faultUnits, runFaultUnit } from "../../test/simulation/workloads/fault-plans.ts";
import { randomPlans } from "../../test/simulation/workloads/random-runs.ts";

const [kind = "", name = ""] = process.argv.slice(2);

async function problemsOfCase(id: string): Promise<readonly string[]> {
  const found = namedCases.find((each) => each.id === id);
  if (found === undefined) throw new Error(`there is no named case ${id}`);
  const { world, violations } = await run(found.plan);
  const judged = found.judge?.(world, found.plan) ?? [];
  return [...violations.map(({ promise, text }) => `${promise}: ${text}`), ...judged];
}

async function problemsOfWorkload(workload: string): Promise<readonly string[]> {
  const units = faultUnits.filter((unit) => unit.workload.name === workload);
  if (units.length === 0) throw new Error(`there is no workload ${workload}`);
  for (const unit of units) {
    for (const { name: plan, violations, difference } of await runFaultUnit(unit)) {
      const words = violations.map(({ promise, text }) => `${promise}: ${text}`);
      const found = difference === undefined ? words : [...words, difference];
      if (found.length > 0) return found.map((problem) => `${plan}: ${problem}`);
    }
  }
  return [];
}

/** The random runs by the kind of proof. */
const tasks: Readonly<Record<string, keyof typeof randomPlans>> = {
  accessSeeds: "Accesses",
  planeSeeds: "Planes",
  disruptionSeeds: "Disruption",
  usageSeeds: "Usage",
};

async function problemsOfSeeds(task: keyof typeof randomPlans, count: number): Promise<readonly string[]> {
  for (let seed = 1; seed <= count; seed += 1) {
    const { violations } = await run(randomPlans[task](seed));
    if (violations.length > 0) return violations.map(({ promise, text }) => `seed ${seed}: ${promise}: ${text}`);
  }
  return [];
}

async function problemsOf(kind: string, name: string): Promise<readonly string[]> {
  if (kind === "namedCase") return await problemsOfCase(name);
  if (kind === "workload") return await problemsOfWorkload(name);
  const task = tasks[kind];
  if (task === undefined) throw new Error(`there is no proof ${kind}`);
  return await problemsOfSeeds(task, Number(name));
}

const problems = await problemsOf(kind, name);
process.stdout.write(JSON.stringify(problems));
