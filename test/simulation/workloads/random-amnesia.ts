/** Makes random runs in which the operator forgets everything about a project before some of its reconciles. */
import { createSeededRandom, type SeededRandom } from "../../support/seeded-random.ts";
import { faultless } from "../faults/fault-plan.ts";
import type { RunPlan } from "../run/run.ts";
import type { Amnesia } from "../run/world.ts";
import { faultUnits, planOfUnit } from "./fault-plans.ts";
import { randomAccessPlan } from "./random-accesses.ts";
import { randomBranchPlan } from "./random-branches.ts";
import { randomPlan } from "./random-plan.ts";
import { randomPlanePlan } from "./random-planes.ts";

/** The workloads in turn. The last is each short workload with each profile. */
const plans: readonly ((seed: number) => RunPlan)[] = [
  randomPlan,
  randomAccessPlan,
  randomPlanePlan,
  randomBranchPlan,
  (seed) => planOfUnit(faultUnits[seed % faultUnits.length] as (typeof faultUnits)[number]),
];

/** Draws a run of any workload, with or without faults, and adds amnesia. */
export function randomAmnesiaPlan(seed: number): RunPlan {
  const random = createSeededRandom(seed * 374_761_393);
  const base = (plans[seed % plans.length] as (typeof plans)[number])(Math.floor(seed / plans.length));
  const faults = random.next() < 0.4 ? faultless : base.world.faults;
  return { ...base, world: { ...base.world, faults, amnesia: randomAmnesia(random, base.quietFromMs) } };
}

function randomAmnesia(random: SeededRandom, quietFromMs: number): Amnesia {
  const stretches = Array.from({ length: random.below(3) }, () => {
    const fromMs = random.below(quietFromMs);
    return { fromMs, untilMs: fromMs + random.pick([5_000, 30_000, 120_000, quietFromMs]) };
  });
  return { rate: stretches.length === 0 ? random.pick([0.1, 0.3, 1]) : random.pick([0, 0.1]), stretches };
}
