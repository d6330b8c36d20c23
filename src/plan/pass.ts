import type { ObservedEndpoint } from "../domain/endpoint.ts";
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

/** The newest look at the endpoint: the answer of this pass's own write, else the reading; `undefined`: not seen. */
export function latestEndpoint({ observation, plan, outcome }: Pass): ObservedEndpoint | undefined {
  if (outcome.kind === "Accepted" && outcome.mutation !== undefined && plan?.kind !== "DeleteEndpoint") {
    return outcome.mutation.endpoint;
  }
  if (plan?.kind === "RecordOwnership") {
    return plan.endpoint;
  }
  return observation?.remote.kind === "Present" ? observation.remote.endpoint : undefined;
}
