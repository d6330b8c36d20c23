/** Makes one decision, as a reconcile does. */
import type { Observation } from "../../../../src/decide/observation.ts";
import type { Plan } from "../../../../src/decide/plan.ts";
import { planLocal } from "../../../../src/decide/plan-local.ts";
import { planRemote } from "../../../../src/decide/plan-resource.ts";
import { isLocal, situationOf } from "../../../../src/decide/situation.ts";

/** Decides about one observation, as a reconcile does. */
export function decide(observation: Observation): Plan {
  const situation = situationOf(observation);
  return isLocal(situation) ? planLocal(situation, observation) : planRemote(situation, observation);
}
