// Runs seeds in a thread of its own: gets `{first, beyond}`, answers one report for each seed.
import { parentPort } from "node:worker_threads";
import { isKnown } from "../../test/simulation/known-failures.ts";
import { run } from "../../test/simulation/run/run.ts";
import type { Violation } from "../../test/simulation/run/violation.ts";
import { randomPlan } from "../../test/simulation/workloads/random-plan.ts";

/** What came of one seed. */
export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly (Violation & { readonly isKnown: boolean })[];
  readonly digest: string;
}

async function reportOf(seed: number): Promise<SeedReport> {
  const plan = randomPlan(seed);
  const { violations, world } = await run(plan);
  return {
    seed,
    violations: violations.map((violation) => ({ ...violation, isKnown: isKnown(violation, plan) })),
    digest: world.log.digest(),
  };
}

parentPort?.on("message", async ({ first, beyond }: { readonly first: number; readonly beyond: number }) => {
  const reports: SeedReport[] = [];
  for (let seed = first; seed < beyond; seed += 1) reports.push(await reportOf(seed));
  parentPort?.postMessage(reports);
});
