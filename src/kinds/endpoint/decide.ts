/** Decides about one ComputeEndpoint from what was read, after the checks that every kind has. */
import { type CommonPlan, type Reads, stall } from "../../engine/kind.ts";
import { invalidSpec } from "../../engine/standing.ts";
import { type BranchPlace, byId } from "../../resource/branch-place.ts";
import { isObserved } from "../../resource/compute-endpoint.ts";
import { ownershipOf } from "../../resource/identity.ts";
import type { ComputeEndpointSpec, PlacedSpec } from "../../resource/spec-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import type { ProjectClaims } from "./claims.ts";
import { operationFactsOf } from "./log-subject.ts";
import type { EndpointFacts, EndpointTypes, Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planObserve, planStopManaging } from "./plan-observe.ts";
import { planDeletion, planOperationWait, planOwned } from "./plan-owned.ts";
import { planOpenCreate, planUnowned } from "./plan-unowned.ts";
import { scheduledSpec } from "./schedules.ts";

export interface Around {
  readonly place: BranchPlace;
  readonly claims: () => ProjectClaims;
}

/**
 * Chooses the next step of one resource. Pure and total: no I/O, clock or randomness.
 * Guarantees: a create is planned only together with an intent that is stored first. A change or deletion is planned
 * only for an endpoint that the records prove to belong to the resource, and that was read by id.
 */
export function decideEndpoint(facts: EndpointFacts, reads: Reads<EndpointTypes>, around: Around): Plan {
  const released = planStopManaging(facts);
  if (released !== undefined) {
    return released;
  }
  const { project } = reads;
  const look: Plan = { kind: "Look", at: "Project" };
  if (project === undefined) {
    return look;
  }
  const answered = planAnswered(facts);
  if (answered !== undefined) {
    return answered;
  }
  const { resource, policy } = facts;
  const operations = operationFactsOf(facts, project);
  const { snapshot } = project;
  if (snapshot === undefined) {
    const isWanted = !isBeingDeleted(resource) && resource.status.ownership !== undefined;
    return (isWanted ? planOperationWait({ operations, policy }) : undefined) ?? look;
  }
  return planFromSnapshot({ ...facts, project: snapshot, operations, place: around.place, claims: around.claims() });
}

/** Plans to store the answer to a create that no status holds yet. `undefined`: there is none. */
export function planAnswered(facts: EndpointFacts): Plan | undefined {
  const { endpoint, hash } = facts.memory.posts?.answer ?? {};
  return endpoint === undefined || facts.resource.status.ownership !== undefined
    ? undefined
    : {
        kind: "RecordOwnership",
        ownership: ownershipOf(facts, endpoint, "Created"),
        endpoint,
        acknowledgedHash: hash,
      };
}

export function planFromSnapshot(observation: Observation): Plan {
  const { resource } = observation;
  const { ownership, createIntent: intent } = resource.status;
  if (isBeingDeleted(resource)) {
    return planEnd(observation);
  }
  if (resource.spec.kind === "Invalid") {
    return invalidSpec(resource.spec.problems);
  }
  const placed = placedSpec(resource.spec.spec, observation.place);
  if ("kind" in placed) {
    return placed;
  }
  if (isObserved(resource)) {
    return planObserve(placed, observation);
  }
  const { spec } = scheduledSpec(placed, observation.nowMs);
  if (ownership !== undefined) {
    return planOwned(ownership, spec, observation);
  }
  return intent === undefined ? planUnowned(spec, observation) : planOpenCreate({ intent, spec }, observation);
}

/** Returns the spec with its branch, or a plan that sends nothing: a change could reach a branch that is not proven. */
function placedSpec(spec: ComputeEndpointSpec, place: BranchPlace = byId): PlacedSpec | CommonPlan {
  switch (place.kind) {
    case "ById":
      return { ...spec, branchId: spec.branchId ?? "" };
    case "Proven":
      return { ...spec, branchId: place.branchId };
    case "Unproven": {
      const message = `DatabaseBranch ${place.name} does not exist, is being deleted or reset, or has no branch yet. The operator continues when it has one.`;
      return { kind: "Wait", reason: "WaitingForBranch", message, waitMs: undefined };
    }
    case "Mismatch":
      return stall(
        "BranchMismatch",
        `projectId or controlPlaneRef differ from those of DatabaseBranch ${place.name}. They cannot be changed: create the ComputeEndpoint again with the same values.`,
      );
  }
}

function planEnd(observation: Observation): Plan {
  const { ownership, createIntent: intent } = observation.resource.status;
  if (ownership !== undefined) {
    return planDeletion(ownership, observation);
  }
  // Without records the engine has released the resource, or made it Stalled, before it asked the kind.
  return intent === undefined
    ? { kind: "Idle", dueInMs: undefined }
    : planOpenCreate({ intent, spec: undefined }, observation);
}
