/** Lists the kinds of random runs. */
import { randomAccessPlan } from "./random-accesses.ts";
import { randomAmnesiaPlan } from "./random-amnesia.ts";
import { randomBranchPlan } from "./random-branches.ts";
import { randomDisruptionPlan } from "./random-disruption.ts";
import { randomPlan } from "./random-plan.ts";
import { randomPlanePlan } from "./random-planes.ts";
import { randomUsagePlan } from "./random-usage.ts";

/**
 * Makes the plan of a random run from its seed: plain, with DatabaseAccesses, with ControlPlanes, of computes that start
 * and suspend, of an operator that forgets, or with windows, approvals and schedules.
 */
export const randomPlans = {
  Seeds: randomPlan,
  Accesses: randomAccessPlan,
  Branches: randomBranchPlan,
  Planes: randomPlanePlan,
  Usage: randomUsagePlan,
  Amnesia: randomAmnesiaPlan,
  Disruption: randomDisruptionPlan,
} as const;
