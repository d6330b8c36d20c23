/** Lists the kinds of random runs. */
import { randomAccessPlan } from "./random-accesses.ts";
import { randomPlan } from "./random-plan.ts";
import { randomPlanePlan } from "./random-planes.ts";
import { randomUpheavalPlan } from "./random-upheavals.ts";

/** Makes the plan of a random run from its seed: plain, with DatabaseAccesses, with ControlPlanes, or with upheavals. */
export const randomPlans = {
  Seeds: randomPlan,
  Accesses: randomAccessPlan,
  Planes: randomPlanePlan,
  Upheavals: randomUpheavalPlan,
} as const;
