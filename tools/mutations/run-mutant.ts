// Runs in a copy of the repository whose `src` is weakened: prints what a named case or a workload finds wrong, as JSON.
import { namedCases } from "../../test/simulation/cases/all-cases.ts";
import { run } from "../../test/simulation/run/run.ts";
import { faultUnits, runFaultUnit } from "../../test/simulation/workloads/fault-plans.ts";

const [kind, name] = process.argv.slice(2);

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

const problems = kind === "case" ? await problemsOfCase(name ?? "") : await problemsOfWorkload(name ?? "");
process.stdout.write(JSON.stringify(problems));
