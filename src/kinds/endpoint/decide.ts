/** Decides about one ComputeEndpoint from what was read, after the checks that every kind has, and which rights it needs. */
import { outcomeOf } from "../../domain/operation.ts";
import { invalidSpec } from "../../engine/decision.ts";
import { type MissingRight, mayUse, notGrantedMessage, type ProjectGrant } from "../../engine/grant.ts";
import { type CommonPlan, type Reads, stall, wait } from "../../engine/kind.ts";
import { type ProjectReads, remoteStateOf } from "../../engine/project-reads.ts";
import { type LogSubject, reduceOperations } from "../../operations/reduce-operations.ts";
import { type BranchPlace, byId } from "../../resource/branch-place.ts";
import { type ComputeEndpoint, deletionFieldsOf, isObserved, workProjectOf } from "../../resource/compute-endpoint.ts";
import { ownershipOf } from "../../resource/identity.ts";
import { annotations, finalizer } from "../../resource/names.ts";
import type { ComputeEndpointSpec, PlacedSpec } from "../../resource/spec-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { hasConsent, type ProjectClaims } from "./claims.ts";
import { driftOf, scheduledSpec } from "./desired-endpoint.ts";
import {
  type EndpointFacts,
  type EndpointStep,
  type EndpointTypes,
  lookAt,
  type Observation,
  type OperationFacts,
  type Plan,
} from "./plan.ts";
import { readWriteEndpointOf } from "./plan-adoption.ts";
import { planDeletion, planOperationWait, planOwned } from "./plan-owned.ts";
import { answeredOperations, latestEndpoint, readEndpoint, recordsAfter } from "./plan-table.ts";
import { planOpenCreate, planUnowned } from "./plan-unowned.ts";

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
  return planFromSnapshot({ ...facts, snapshot, operations, place: around.place, claims: around.claims() });
}

/** Plans to store the answer to a create that no status holds yet. `undefined`: there is none. */
export function planAnswered(facts: EndpointFacts): Plan | undefined {
  const { endpoint } = facts.memory.posts?.answer ?? {};
  return endpoint === undefined || facts.resource.status.ownership !== undefined
    ? undefined
    : { kind: "RecordOwnership", ownership: ownershipOf(facts, endpoint, "Created"), endpoint };
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
      const message = `DatabaseBranch ${place.name} does not exist, is being deleted, made or reset, or has no branch yet. The operator continues when its branch can be used.`;
      return wait("WaitingForBranch", message);
    }
    case "Mismatch": {
      const message = `projectId or controlPlaneRef differ from those of DatabaseBranch ${place.name}. They cannot be changed: create the ComputeEndpoint again with the same values.`;
      return stall("BranchMismatch", message);
    }
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

/** A create without a result is resolved first. After that nothing is left to do at a deletion, and the finalizer goes. */
function planStopManaging({ resource, memory }: EndpointFacts): Plan | undefined {
  const isOpen = resource.status.createIntent !== undefined || memory.posts?.answer !== undefined;
  const isHeld = resource.finalizers.includes(finalizer) && !isBeingDeleted(resource);
  return isHeld && isObserved(resource) && !isOpen ? { kind: "RemoveFinalizer", cause: "Observed" } : undefined;
}

/** The endpoint of the record, else the one that `spec.adoption` names, else the read-write endpoint of the branch. */
function planObserve(spec: PlacedSpec, observation: Observation): Plan {
  const { snapshot, resource } = observation;
  const { ownership, createIntent: intent } = resource.status;
  if (ownership === undefined && intent !== undefined) {
    return planOpenCreate({ intent, spec: undefined }, observation);
  }
  const ofBranch = spec.type === "ReadWrite" ? readWriteEndpointOf(observation, spec.branchId)?.id : undefined;
  const endpointId = ownership?.endpointId ?? spec.adoption?.endpointId ?? ofBranch;
  const remote = endpointId === undefined ? undefined : remoteStateOf(snapshot, endpointId);
  if (remote === undefined || remote.kind === "Absent") {
    const what = endpointId === undefined ? `no ${spec.type} endpoint that spec names` : `no endpoint ${endpointId}`;
    const remedy = "Correct spec.branchId or spec.adoption.endpointId, or set spec.management to Manage.";
    return stall("AdoptionTargetMissing", `Project ${spec.projectId} has ${what} to observe. ${remedy}`);
  }
  // Only a read by id proves a difference.
  return remote.kind === "Unknown" || (remote.kind === "Listed" && driftOf(spec, remote.endpoint).length > 0)
    ? lookAt(endpointId ?? "")
    : { kind: "Observe", endpoint: remote.endpoint, ignored: ignoredOf(spec, resource) };
}

function ignoredOf(spec: PlacedSpec, { annotations: given, status }: ComputeEndpoint): readonly string[] {
  const fields = (["deletionPolicy", "disruption", "schedules"] as const).filter((field) => spec[field] !== undefined);
  const { lastHandledWakeAt: woken, lastHandledSuspendAt: suspended } = status;
  const asked = [
    ...(given[annotations.wakeRequestedAt] === woken ? [] : [annotations.wakeRequestedAt]),
    ...(given[annotations.suspendRequestedAt] === suspended ? [] : [annotations.suspendRequestedAt]),
  ];
  return [...fields.map((field) => `spec.${field}`), ...asked.filter((name) => name in given)];
}

/** `Retained`: by `deletionPolicy`, or because the endpoint is only observed; without a policy, an adopted or presumed endpoint stays. */
export function deletionWork(resource: ComputeEndpoint): "Nothing" | "Retained" | "Something" {
  const { uid, status, isOwnershipReadable } = resource;
  if (isOwnershipReadable && status.ownership?.resourceUid !== uid && status.createIntent === undefined) {
    return "Nothing";
  }
  const origin = status.ownership?.origin;
  if (isObserved(resource)) {
    return "Retained";
  }
  const usual = origin === "Adopted" || origin === "Presumed" ? "Retain" : "Delete";
  return (deletionFieldsOf(resource).deletionPolicy ?? usual) === "Retain" ? "Retained" : "Something";
}

export function missingGrant(resource: ComputeEndpoint, grant: ProjectGrant, place: BranchPlace): string | undefined {
  const missing = missingRight(resource, grant, place);
  const { ownership } = resource.status;
  const isForeign = ownership === undefined ? isAsking(resource) : ownership.origin === "Adopted";
  const needed = { projectId: workProjectOf(resource), ...(missing === "change" && !isForeign ? place : byId) };
  return missing && notGrantedMessage(resource.key.namespace, needed, missing);
}

function missingRight(resource: ComputeEndpoint, grant: ProjectGrant, place: BranchPlace): MissingRight | undefined {
  const { mayChange, mayAdopt } = grant;
  const { ownership, createIntent } = resource.status;
  const isAdopted = ownership?.origin === "Adopted";
  if (isBeingDeleted(resource)) {
    // On a branch of its own namespace, what was presumably created is its own.
    const isForeign = isAdopted || (ownership?.origin === "Presumed" && place.kind === "ById");
    return isForeign && !mayAdopt ? "deleteAdopted" : undefined;
  }
  if (isObserved(resource)) return mayAdopt ? undefined : "observe";
  const isAdopting = ownership === undefined && createIntent === undefined && isAsking(resource);
  if (!mayUse(grant, place) || (isAdopted && !mayChange)) return "change";
  return isAdopting && !mayAdopt ? "adopt" : undefined;
}

const isAsking = ({ spec }: ComputeEndpoint) => spec.kind === "Valid" && hasConsent(spec.spec);

/** What of a resource and its step the operation log needs. */
export function subjectOf(step: EndpointStep): LogSubject {
  const { resource, nowMs: readMs } = step.facts;
  const endpoint = latestEndpoint(step);
  const { plan, facts } = step;
  const observed = plan?.kind === "Observe" ? ownershipOf(facts, plan.endpoint, "Adopted") : undefined;
  // The host of an endpoint has its id.
  const isSame = resource.status.host === endpoint?.host;
  const sizes = [resource.status.compute, readEndpoint(step), endpoint].filter((each) => each !== undefined);
  return {
    readMs,
    sizes,
    endpoint,
    ownership: recordsAfter(step).ownership ?? observed,
    previousOwnership: resource.status.ownership ?? (isSame ? observed : undefined),
    answeredIds: answeredOperations(step).map(({ id }) => id),
    answeredCause: plan !== undefined && "isCorrection" in plan && plan.isCorrection ? "Drift" : undefined,
    acknowledgedOperationId: resource.annotations[annotations.acknowledgeOperation],
  };
}

function operationFactsOf(facts: EndpointFacts, project: ProjectReads): OperationFacts {
  const { resource, monotonicMs } = facts;
  const reads: Reads<EndpointTypes> = { project };
  const subject = subjectOf({ facts, reads, plan: undefined, outcome: { kind: "NothingSent" } });
  const { ownInFlight, state } = reduceOperations(resource.status, project.operations, subject);
  const { operations: shown = [] } = state;
  const failed = shown.filter((operation) => outcomeOf(operation) === "Failed");
  const [newest] = shown;
  return {
    ownInFlight,
    inFlightForMs: project.lockedForMs(monotonicMs),
    failedIds: new Set([
      ...failed.map(({ id }) => id),
      ...(state.failedActions ?? []).map(({ operationId }) => operationId),
    ]),
    shown,
    isSuspended: newest?.action === "suspend_compute" && outcomeOf(newest) === "Succeeded",
  };
}
