import type { LocalObservation, Observation } from "./observation.ts";
import type { Outcome } from "./outcome.ts";
import type { Plan } from "./plan.ts";

/** One pass, as status and events are made from it. `observation` and `plan` are absent when a read failed. */
export interface Pass {
  readonly local: LocalObservation;
  readonly observation: Observation | undefined;
  readonly plan: Plan | undefined;
  readonly outcome: Outcome;
}
