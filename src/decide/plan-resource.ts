/** Plans what needs a snapshot of the control plane. */
import { recordOwnership } from "./candidates.ts";
import type { Observation } from "./observation.ts";
import { assertNever, type Plan } from "./plan.ts";
import { planDeletion, planUnrecordedDeletion } from "./plan-deletion.ts";
import { planOpenCreate } from "./plan-open-create.ts";
import { planOwned } from "./plan-owned.ts";
import { planUnowned } from "./plan-unowned.ts";
import type { RemoteSituation } from "./situation.ts";

/**
 * Chooses the next step of one resource from a snapshot of its project.
 *
 * Pure and total: no I/O, clock or randomness. It never reads the resource's own conditions. Guarantees: a create is
 * planned only together with an intent that is stored first. A change or deletion is planned only for an endpoint that
 * the records prove to belong to the resource.
 */
export function planRemote(situation: RemoteSituation, observation: Observation): Plan {
  switch (situation.kind) {
    case "CreateAnswered":
      return {
        ...recordOwnership(observation, situation.answered.endpoint, "Created"),
        acknowledgedHash: situation.answered.hash,
      };
    case "OpenCreate":
      return planOpenCreate(situation, observation);
    case "Owned":
      return planOwned(situation, observation);
    case "Unowned":
      return planUnowned(situation.spec, observation);
    case "Deleting":
      return planDeletion(situation.ownership, observation);
    case "DeletingUnrecorded":
      return planUnrecordedDeletion(observation);
    default:
      return assertNever(situation);
  }
}
