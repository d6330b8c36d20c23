/** Decides about one ComputeEndpoint from what was read, after the checks that every kind has. */

import { ownershipOf } from "../../engine/identity.ts";
import type { Reads } from "../../engine/step.ts";
import type { ProjectClaims } from "./claims.ts";
import { operationFactsOf } from "./log-subject.ts";
import type { EndpointFacts, EndpointTypes, Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planOpenCreate } from "./plan-open-create.ts";
import { planDeletion, planOperationWait, planOwned } from "./plan-owned.ts";
import { planUnowned } from "./plan-unowned.ts";

/**
 * Chooses the next step of one resource. Pure and total: no I/O, clock or randomness.
 * Guarantees: a create is planned only together with an intent that is stored first. A change or deletion is planned
 * only for an endpoint that the records prove to belong to the resource, and that was read by id.
 */
export function decide(facts: EndpointFacts, reads: Reads<EndpointTypes>, claims: () => ProjectClaims): Plan {
  const { ownership } = facts.resource.status;
  const { project } = reads;
  const look: Plan = { kind: "Look", at: "Project" };
  if (project === undefined) {
    return look;
  }
  const answer = facts.memory.posts?.answer;
  if (answer?.endpoint !== undefined && ownership === undefined) {
    const { endpoint, hash } = answer;
    return {
      kind: "RecordOwnership",
      ownership: ownershipOf(facts, endpoint, "Created"),
      endpoint,
      acknowledgedHash: hash,
    };
  }
  const operations = operationFactsOf(facts, project);
  const { snapshot } = project;
  if (snapshot === undefined) {
    const isWanted = facts.resource.deletionTimestamp === undefined && ownership !== undefined;
    return (isWanted ? planOperationWait({ operations, policy: facts.policy }) : undefined) ?? look;
  }
  return planOf({ ...facts, project: snapshot, claims: claims(), operations });
}

export function planOf(observation: Observation): Plan {
  const { resource } = observation;
  const { ownership, createIntent: intent } = resource.status;
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  if (resource.deletionTimestamp !== undefined || spec === undefined) {
    return ownership !== undefined
      ? planDeletion(ownership, observation)
      : intent === undefined
        ? { kind: "RemoveFinalizer", cause: "NeverCreated" }
        : planOpenCreate({ intent, spec: undefined }, observation);
  }
  if (ownership !== undefined) {
    return planOwned(ownership, spec, observation);
  }
  return intent === undefined ? planUnowned(spec, observation) : planOpenCreate({ intent, spec }, observation);
}
