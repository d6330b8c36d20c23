import { isKnown } from "../../test/simulation/known-failures.ts";
import { type RunPlan, run } from "../../test/simulation/run/run.ts";
import { shrink } from "../../test/simulation/run/shrink.ts";
import type { Violation } from "../../test/simulation/run/violation.ts";
import { randomPlan } from "../../test/simulation/workloads/random-plan.ts";

/** Prints what happens in the run of a seed; one that breaks a promise is made shorter first. @returns the exit code */
export async function tellSeed(seed: number, { isWhole }: { readonly isWhole: boolean }): Promise<number> {
  const plan = randomPlan(seed);
  const { violations } = await run(plan);
  const first = violations.find((violation) => !isKnown(violation, plan)) ?? violations[0];
  if (first === undefined || isWhole) return tell(plan);
  console.log(`Seed ${seed} breaks ${first.promise}: ${first.text}\nMaking the run shorter ...\n`);
  const words = wordsOf(first);
  return await tell(await shrink(plan, (found) => found.some((violation) => wordsOf(violation) === words)));
}

function wordsOf({ promise, text }: Violation): string {
  return `${promise} ${text.replaceAll(/\d+/g, "N")}`;
}

async function tell(plan: RunPlan): Promise<number> {
  const { world, violations } = await run(plan);
  const { profile, machines, serviceClock, hasElection, operationLatencyMs } = plan.world;
  console.log(JSON.stringify({ profile, machines, serviceClock, hasElection, operationLatencyMs }));
  for (const { atMs, actor, text } of world.log.entries) {
    console.log(`${(atMs / 1_000).toFixed(3).padStart(9)} s  ${actor.padEnd(13)} ${text}`);
  }
  for (const { promise, text } of violations) console.log(`${promise} is broken: ${text}`);
  return violations.length === 0 ? 0 : 1;
}
