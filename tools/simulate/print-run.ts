/** Prints one random run of the simulation. */
import { isKnown } from "../../test/simulation/known-failures.ts";
import { type RunPlan, run } from "../../test/simulation/run/run.ts";
import { shrink } from "../../test/simulation/run/shrink.ts";
import type { Violation } from "../../test/simulation/run/violation.ts";

/** The options of the output. */
export interface PrintOptions {
  /** True: the run is not shortened. */
  readonly isWhole: boolean;
  /** Only events of this resource, or of all resources. @default everything */
  readonly resource?: string | undefined;
}

/** Prints the events of a random run. A run that breaks a promise is shortened first. @returns the exit code */
export async function printRun(plan: RunPlan, { isWhole, resource }: PrintOptions): Promise<number> {
  const { violations } = await run(plan);
  const first = violations.find((violation) => !isKnown(violation, plan)) ?? violations[0];
  if (first === undefined || isWhole) return printEvents(plan, resource);
  console.log(`Seed ${plan.world.seed} breaks ${first.promise}: ${first.text}\nMaking the run shorter ...\n`);
  const words = wordsOf(first);
  const short = await shrink(plan, (found) => found.some((violation) => wordsOf(violation) === words));
  return await printEvents(short, resource);
}

function wordsOf({ promise, text }: Violation): string {
  return `${promise} ${text.replaceAll(/\d+/g, "N")}`;
}

async function printEvents(plan: RunPlan, resource: string | undefined): Promise<number> {
  const { world, violations } = await run(plan);
  const { profile, machines, controlPlaneClock, hasElection, operationLatencyMs } = plan.world;
  console.log(JSON.stringify({ profile, machines, controlPlaneClock, hasElection, operationLatencyMs }));
  for (const { atMs, actor, text } of world.log.entries) {
    // The operator repeats the search for kinds that may be installed later.
    if (text.includes("find the kinds of")) continue;
    if (resource !== undefined && isOfAnother(text, resource)) continue;
    console.log(`${(atMs / 1_000).toFixed(3).padStart(9)} s  ${actor.padEnd(13)} ${text}`);
  }
  for (const { promise, text } of violations) console.log(`${promise} is broken: ${text}`);
  return violations.length === 0 ? 0 : 1;
}

/** Whether a line names resources, but not this one. */
function isOfAnother(text: string, resource: string): boolean {
  const names = [...text.matchAll(/\b[a-z]+\/([a-z][a-z0-9-]*)\b|"name":"([^"]+)"/g)].map(([, a, b]) => a ?? b);
  const known = names.filter((name) => name !== "endpoint-operator");
  return known.length > 0 && !known.includes(resource);
}
