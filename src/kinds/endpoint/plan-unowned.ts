/** Plans the next step of a resource that owns no endpoint: its create, with the intent that is stored before. */
import type { EndpointCreation, ObservedEndpoint } from "../../domain/endpoint.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { stall, wait } from "../../engine/kind.ts";
import { endpointName, ownershipToken, planeRecord, tokenIn } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { CreateIntent } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { desiredChanges, fieldStateOf, hashOf, scheduledSpec } from "./desired-endpoint.ts";
import { type EndpointFacts, type Observation, type Plan, type PlanOf, recordOwnership } from "./plan.ts";
import { planAdoptOnlyMiss, planNamedAdoption, planReadWritePlace, readWriteEndpointOf } from "./plan-adoption.ts";

export function planUnowned(spec: PlacedSpec, observation: Observation): Plan {
  return (
    // Its status was lost: the endpoint carries the resource's token, and has no owner.
    planOwnToken(observation, candidatesOf(observation, { ...spec, preIds: [] }).own) ??
    planNamedAdoption(observation, spec) ??
    planReadWritePlace(observation, spec) ??
    planAdoptOnlyMiss(spec) ??
    createUnder(observation, spec, undefined)
  );
}

/**
 * Plans to record the endpoint that carries this resource's token. If there are several, a person chooses one.
 * `undefined`: there is none.
 */
function planOwnToken(observation: Observation, own: readonly ObservedEndpoint[]): Plan | undefined {
  const [first, second] = own;
  const chosen = second === undefined ? first : chosenOf(observation, own);
  if (chosen !== undefined) {
    return recordOwnership(observation, chosen, "Created");
  }
  if (first === undefined) {
    return undefined;
  }
  const ids = own.map(({ id }) => id).sort();
  const message = `These endpoints have the name ending that the operator gives to this resource, and status names none of them: ${ids.join(", ")}. Set the annotation ${annotations.resolveCreate} to adopt=<endpoint id>, and rename or delete the others. To remove the resource and keep them all, set spec.deletionPolicy to Retain.`;
  return stall("CreateAmbiguous", message);
}

/** Uses `stored` if it is for the same place and the list shows the same endpoints there; else a new intent. */
function createUnder(
  observation: Observation,
  spec: PlacedSpec,
  stored: CreateIntent | undefined,
): PlanOf<"CreateEndpoint"> {
  const preIds = presentIds(observation, spec);
  const isUsable = stored !== undefined && isForPlaceOf(stored, spec) && isSameStored(stored.preIds, preIds);
  const intent = isUsable ? stored : newIntent(observation, spec, preIds);
  const changes = desiredChanges(spec);
  const creation: EndpointCreation = {
    ...changes,
    branchId: spec.branchId,
    type: spec.type,
    name: endpointName(observation.resource.key.name, intent.token),
  };
  return { kind: "CreateEndpoint", intent, creation, hash: hashOf(changes) };
}

function newIntent(observation: Observation, spec: PlacedSpec, preIds: string[]): CreateIntent {
  const { resource, identity, snapshot } = observation;
  return {
    attempt: hashOf([resource.uid, resource.resourceVersion, snapshot.startedAtMs]).slice(0, 10),
    token: tokenOf(observation),
    ...planeRecord(identity),
    projectId: spec.projectId,
    branchId: spec.branchId,
    type: spec.type,
    preIds,
  };
}

function isForPlaceOf(intent: CreateIntent, spec: PlacedSpec): boolean {
  return intent.projectId === spec.projectId && intent.branchId === spec.branchId && intent.type === spec.type;
}

/**
 * Returns the sorted ids of the endpoints of a branch and type. An entry that cannot be parsed is included, because it
 * may be one of them.
 */
function presentIds({ snapshot }: Observation, { branchId, type }: Pick<CreateIntent, "branchId" | "type">): string[] {
  const ids = [...snapshot.endpoints.values()]
    .filter((endpoint) => endpoint.branchId === branchId && endpoint.type === type)
    .map(({ id }) => id);
  return [...ids, ...snapshot.unreadableIds].sort();
}

/** The endpoints that a create may have made: no resource owns them, and they are not in `preIds`. */
interface Candidates {
  /** Endpoints of the type, on whatever branch, whose name carries this resource's token: its create made them. */
  readonly own: readonly ObservedEndpoint[];
  /** Endpoints of the branch and type, if the list shows no names. */
  readonly nameless: readonly ObservedEndpoint[];
  /** Entries of the list that cannot be parsed. The id "" stands for all entries without an id. */
  readonly unreadableIds: readonly string[];
}

function candidatesOf(
  observation: Observation,
  { branchId, type, preIds }: Pick<CreateIntent, "branchId" | "type" | "preIds">,
): Candidates {
  const { snapshot, claims, resource } = observation;
  const isFree = (id: string) => !preIds.includes(id) && claims.ownerOf(id, resource.uid) === undefined;
  const free = [...snapshot.endpoints.values()].filter((endpoint) => endpoint.type === type && isFree(endpoint.id));
  // Usually every endpoint has an owner, and no token must be computed.
  const token = free.length === 0 ? "" : tokenOf(observation);
  return {
    own: free.filter(({ name }) => tokenIn(name) === token),
    nameless: snapshot.echoesNames ? [] : free.filter((endpoint) => endpoint.branchId === branchId),
    unreadableIds: snapshot.unreadableIds.filter(isFree),
  };
}

/** Finds the endpoint that a person names by `resolve-create: adopt=<id>`; `undefined`: none of these. */
function chosenOf({ resource }: EndpointFacts, endpoints: readonly ObservedEndpoint[]) {
  const answer = resource.annotations[annotations.resolveCreate];
  return endpoints.find(({ id }) => answer === `adopt=${id}`);
}

function tokenOf({ identity, resource }: EndpointFacts): string {
  return ownershipToken(identity.clusterId, resource.uid);
}

/** An open create. `spec` is `undefined` if the resource is being deleted, so it no longer wants an endpoint. */
interface OpenCreate {
  readonly intent: CreateIntent;
  readonly spec: PlacedSpec | undefined;
}

/**
 * Plans the next step of a resource with an open create. At most one POST of it is ever unresolved: the operator sends
 * another POST only when no earlier one can still take effect.
 */
export function planOpenCreate(situation: OpenCreate, observation: Observation): Plan {
  const { intent } = situation;
  if (observation.resource.annotations[annotations.resolveCreate] === `abandon=${intent.attempt}`) {
    return { kind: "CloseIntent", cause: "Abandoned" };
  }
  const candidates = candidatesOf(observation, intent);
  const own = planOwnToken(observation, candidates.own);
  if (own !== undefined) {
    return own;
  }
  const chosen = observation.grant.mayAdopt ? chosenOf(observation, candidates.nameless) : undefined;
  if (chosen !== undefined) {
    return recordOwnership(observation, chosen, "Adopted");
  }
  const { posts } = observation.memory;
  return posts?.attempt === intent.attempt && !posts.isUnresolved
    ? planNextCreate(situation, observation, intent)
    : planUnresolved(situation, observation, candidates);
}

/**
 * Plans what follows when no earlier POST of the intent can take effect any more. If the resource is being deleted, spec
 * names another place, or the branch has a read-write endpoint already, the operator closes the intent.
 * @param clean the stored intent, if every POST of it was refused or never sent. `undefined`: a POST of it had no answer,
 *   so the next POST gets a new intent.
 */
function planNextCreate({ intent, spec }: OpenCreate, observation: Observation, clean: CreateIntent | undefined): Plan {
  const isTaken = intent.type === "ReadWrite" && readWriteEndpointOf(observation, intent.branchId) !== undefined;
  return spec === undefined || !isForPlaceOf(intent, spec) || isTaken
    ? { kind: "CloseIntent", cause: "NothingCreated" }
    : createUnder(observation, spec, clean);
}

function planUnresolved(situation: OpenCreate, observation: Observation, candidates: Candidates): Plan {
  const { intent } = situation;
  const { nameless, unreadableIds } = candidates;
  const waitMs = settleLeftMs(observation, intent);
  if (waitMs > 0) {
    return waitUntilSettled(observation, waitMs);
  }
  const [first, ...others] = nameless;
  if (first !== undefined && others.length + unreadableIds.length === 0 && isPresumable(observation, intent, first)) {
    return recordOwnership(observation, first, "Presumed");
  }
  const ids = [...nameless.map(({ id }) => id), ...unreadableIds.map((id) => id || "an entry without an id")];
  return ids.length > 0 ? ambiguous(observation, intent, ids) : planNextCreate(situation, observation, undefined);
}

/**
 * Returns the milliseconds until a list can prove that no POST can still take effect. If this process knows nothing about
 * the intent, an earlier process may have sent a POST just before.
 */
function settleLeftMs({ memory: { posts }, snapshot, policy }: Observation, { attempt }: CreateIntent): number {
  return posts?.attempt === attempt
    ? posts.sinceMs + policy.createSettleMs - snapshot.startedAtMs
    : policy.createSettleMs;
}

const minuteMs = 60_000;

function waitUntilSettled({ nowMs, policy }: Observation, waitMs: number): Plan {
  // Whole minutes, so that the message stays the same.
  const until = new Date(Math.ceil((nowMs + waitMs) / minuteMs) * minuteMs).toISOString().slice(11, 16);
  const message = `The answer to a create was lost. The operator waits until ${until} UTC, when that request can no longer take effect.`;
  return wait("CreateUnresolved", message, Math.max(waitMs, policy.operationPollMs));
}

/** Whether the only candidate may be recorded without asking a person: no field that it shows differs from what is wanted. */
function isPresumable({ resource, nowMs }: Observation, { type }: CreateIntent, endpoint: ObservedEndpoint): boolean {
  return (
    type === "ReadWrite" &&
    resource.spec.kind === "Valid" &&
    fieldStateOf(desiredChanges(scheduledSpec(resource.spec.spec, nowMs).spec), endpoint) !== "Differs"
  );
}

function ambiguous({ resource }: Observation, { attempt }: CreateIntent, candidateIds: readonly string[]): Plan {
  const retain = isBeingDeleted(resource)
    ? " To remove this resource and leave them all, set spec.deletionPolicy to Retain."
    : "";
  const ids = candidateIds.toSorted().join(", ");
  const message = `The answer to a create was lost, and the create may have made ${ids}. Annotate the resource with ${annotations.resolveCreate}=adopt=<endpoint id> if one of them is yours. If none is, annotate it with ${annotations.resolveCreate}=abandon=${attempt}.${retain}`;
  return stall("CreateAmbiguous", message);
}
