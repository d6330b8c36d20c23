/** Plans the next step of a resource that owns no endpoint. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { notGrantedMessage } from "../../engine/grant.ts";
import { stall } from "../../engine/kind.ts";
import { isTokenOfCluster, tokenIn } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { CreateIntent } from "../../resource/status-schema.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import { type Claim, hasConsent } from "./claims.ts";
import {
  type Candidates,
  candidatesOf,
  chosenOf,
  createUnder,
  isForPlaceOf,
  recordOwnership,
} from "./create-intent.ts";
import { desiredChanges, fieldStateOf, scheduledSpec } from "./desired-endpoint.ts";
import type { Observation, Plan } from "./plan.ts";

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
  const ids = own.map(({ id }) => id).sort();
  return first === undefined
    ? undefined
    : stall(
        "CreateAmbiguous",
        `These endpoints have the name ending that the operator gives to this resource, and status names none of them: ${ids.join(", ")}. Set the annotation ${annotations.resolveCreate} to adopt=<endpoint id>, and rename or delete the others. To remove the resource and keep them all, set spec.deletionPolicy to Retain.`,
      );
}

function planNamedAdoption(observation: Observation, spec: PlacedSpec): Plan | undefined {
  const wantedId = hasConsent(spec) ? spec.adoption?.endpointId : undefined;
  const endpoint = wantedId === undefined ? undefined : observation.project.endpoints.get(wantedId);
  return endpoint === undefined ? undefined : planAdoption(observation, spec, endpoint);
}

/**
 * Plans an adoption or a stall if the branch has a read-write endpoint, or if another resource has the better claim to
 * it. A branch has at most one read-write endpoint.
 */
function planReadWritePlace(observation: Observation, spec: PlacedSpec): Plan | undefined {
  if (spec.type !== "ReadWrite") {
    return undefined;
  }
  const present = readWriteEndpointOf(observation, spec.branchId);
  if (present === undefined) {
    const rival = observation.claims.rivalForBranch(spec.branchId, observation.resource);
    return rival && claimedByAnother(observation, rival, branchPlace);
  }
  if (hasConsent(spec) && spec.adoption?.endpointId === undefined) {
    return planAdoption(observation, spec, present);
  }
  const holder = holderOf(observation, present);
  if (holder !== undefined) {
    return claimedByAnother(observation, holder, branchPlace);
  }
  return isOwnedElsewhere(observation, present) ? ownedElsewhere(spec) : endpointExists(observation, present);
}

const branchPlace = "the read-write endpoint of this branch";

function planAdoption(observation: Observation, spec: PlacedSpec, endpoint: ObservedEndpoint): Plan {
  const { claims, resource } = observation;
  const rival = holderOf(observation, endpoint) ?? claims.rivalForAdoption(endpoint, resource);
  if (rival !== undefined) {
    return claimedByAnother(observation, rival, "the endpoint to adopt");
  }
  if (isOwnedElsewhere(observation, endpoint) && spec.adoption?.takeOver !== true) {
    return ownedElsewhere(spec);
  }
  if (endpoint.type !== spec.type || endpoint.branchId !== spec.branchId) {
    const message = `Endpoint ${endpoint.id} is ${endpoint.type} on branch ${endpoint.branchId}; this resource asks for ${spec.type} on branch ${spec.branchId}. Change spec to match the endpoint, or name another endpoint in spec.adoption.endpointId.`;
    return stall("AdoptionMismatch", message);
  }
  return recordOwnership(observation, endpoint, "Adopted");
}

function planAdoptOnlyMiss(spec: PlacedSpec): Plan | undefined {
  if (spec.adoption?.policy !== "AdoptOnly") {
    return undefined;
  }
  const wanted =
    spec.adoption.endpointId === undefined
      ? `Branch ${spec.branchId} has no read-write endpoint`
      : `Project ${spec.projectId} has no endpoint ${spec.adoption.endpointId}`;
  const message = `${wanted}, and policy AdoptOnly never creates one. Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.`;
  return stall("AdoptionTargetMissing", message);
}

export function readWriteEndpointOf({ project }: Observation, branchId: string): ObservedEndpoint | undefined {
  return [...project.endpoints.values()].find(
    (endpoint) => endpoint.branchId === branchId && endpoint.type === "ReadWrite",
  );
}

export function holderOf({ claims, resource }: Observation, endpoint: ObservedEndpoint): Claim | undefined {
  const token = tokenIn(endpoint.name);
  return (
    claims.ownerOf(endpoint.id, resource.uid) ??
    (token === undefined ? undefined : claims.creatorByToken(token, resource.uid)) ??
    claims.possibleCreatorOf(endpoint, resource.uid)
  );
}

/**
 * Whether the token in the endpoint's name is not one of this cluster. Then an operator of another cluster, or an early
 * version of the operator, created the endpoint.
 */
export function isOwnedElsewhere({ identity }: Observation, { name }: ObservedEndpoint): boolean {
  const token = tokenIn(name);
  return token !== undefined && !isTokenOfCluster(token, identity.clusterId);
}

function ownedElsewhere({ branchId }: PlacedSpec): Plan {
  const message = `Another cluster or another operator created the endpoint that this resource asks for (branch ${branchId}). If nothing manages the endpoint there any more, set spec.adoption.takeOver to true, with spec.adoption.policy AdoptOrCreate or AdoptOnly. Otherwise choose another branch.`;
  return stall("OwnedElsewhere", message);
}

/** Returns the name of another resource for messages. It is hidden from resources of other namespaces. */
export function ownerName({ key }: Claim, resource: Observation["resource"]): string {
  return key.namespace === resource.key.namespace
    ? `ComputeEndpoint ${key.name}`
    : "a ComputeEndpoint of another namespace";
}

export function claimedByAnother({ resource }: Observation, rival: Claim, what: string): Plan {
  const message = `${what.charAt(0).toUpperCase()}${what.slice(1)} belongs to ${ownerName(rival, resource)}. Delete one of the two resources. The operator continues with this one when the other is gone.`;
  return stall("ClaimedByAnother", message);
}

function endpointExists({ grant, resource }: Observation, endpoint: ObservedEndpoint): Plan {
  if (!grant.mayAdopt) {
    const remedy = notGrantedMessage(resource.key.namespace, endpoint.projectId, "adopt");
    return stall("EndpointExists", `Branch ${endpoint.branchId} already has a read-write endpoint. ${remedy}`);
  }
  const message = `Branch ${endpoint.branchId} already has the read-write endpoint ${endpoint.id}, and no resource owns it. To take it over, add to spec: adoption: {policy: AdoptOrCreate, endpointId: ${endpoint.id}}. Or delete that endpoint.`;
  return stall("EndpointExists", message);
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
    return { kind: "CloseIntent", intent, cause: "Abandoned" };
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
    ? { kind: "CloseIntent", intent, cause: "NothingCreated" }
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
function settleLeftMs({ memory: { posts }, project, policy }: Observation, { attempt }: CreateIntent): number {
  return posts?.attempt === attempt
    ? posts.sinceMs + policy.createSettleMs - project.startedAtMs
    : policy.createSettleMs;
}

const minuteMs = 60_000;

function waitUntilSettled({ nowMs, policy }: Observation, waitMs: number): Plan {
  // Whole minutes, so that the message stays the same.
  const until = new Date(Math.ceil((nowMs + waitMs) / minuteMs) * minuteMs).toISOString().slice(11, 16);
  return {
    kind: "Wait",
    reason: "CreateUnresolved",
    message: `The answer to a create was lost. The operator waits until ${until} UTC, when that request can no longer take effect.`,
    waitMs: Math.max(waitMs, policy.operationPollMs),
  };
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
