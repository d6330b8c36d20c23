/** Makes one decision, as a reconcile does. */

import type { Plan } from "../../../../src/decide/plan.ts";
import { planLocal, planRemote } from "../../../../src/decide/plan-resource.ts";
import type { Observation } from "../../../../src/decide/resource-step.ts";
import { isLocal, situationOf } from "../../../../src/decide/situation.ts";

/** Decides about one observation, as a reconcile does. */
export function decide(observation: Observation): Plan {
  const situation = situationOf(observation);
  return isLocal(situation) ? planLocal(situation, observation) : planRemote(situation, observation);
}
