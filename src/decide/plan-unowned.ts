/** Plans the next step of a resource that owns no endpoint. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { type ConditionReason, conditionOf } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { Claim } from "./claims.ts";
import { hasConsent } from "./claims.ts";
import { createUnder, recordOwnership, unreadableOwnName, unrecordedOwn, waitForOtherCreate } from "./create-intent.ts";
import { isTokenOfCluster, tokenIn } from "./identity.ts";
import type { Observation } from "./observation.ts";
import { type Plan, stall } from "./plan.ts";
import { notGrantedMessage } from "./project-grant.ts";

/** Plans one step of a resource without an open create: adopt or create an endpoint, wait, or stall with the reason. */
export function planUnowned(spec: ComputeEndpointSpec, observation: Observation): Plan {
  return (
    planRediscovery(observation) ??
    planUnreadableOwn(observation) ??
    planNamedAdoption(observation, spec) ??
    planTokenElsewhere(observation, unrecordedOwn(observation).unproven) ??
    planReadWritePlace(observation, spec) ??
    planAdoptOnlyMiss(spec) ??
    waitForOtherCreate(observation, spec) ??
    createUnder(observation, spec, undefined)
  );
}

/**
 * Plans to record the endpoint of a resource whose status was lost: it is on spec's branch, of spec's type, and carries
 * the resource's token. If there are several, a person must choose one. `undefined`: there is no such endpoint, or a
 * person gave all of them up.
 */
function planRediscovery(observation: Observation): Plan | undefined {
  if (isEveryOneGivenUp(observation)) {
    return undefined;
  }
  const { proven } = unrecordedOwn(observation);
  const [first, second] = proven;
  return first !== undefined && second === undefined
    ? recordOwnership(observation, first, "Created")
    : planTokenElsewhere(observation, proven);
}

/**
 * Plans the next step of a resource that is being deleted and whose status names no endpoint. It first searches for
 * endpoints with the resource's token, because each of them may belong to the resource. If there is none, or a person
 * gave all of them up, the finalizer is removed.
 */
export function planUnrecordedDeletion(observation: Observation): Plan {
  return (
    planRediscovery(observation) ??
    planUnreadableOwn(observation) ??
    planTokenElsewhere(observation, unrecordedOwn(observation).unproven) ?? {
      kind: "RemoveFinalizer",
      cause: "NeverCreated",
      abandoned: undefined,
    }
  );
}

/**
 * Stalls the resource while an endpoint with its token cannot be parsed, unless a person gave up every endpoint with
 * this token. The endpoint may belong to the resource. A create would make a second endpoint, and a deletion would
 * leave this one behind. Other resources of the project go on.
 */
function planUnreadableOwn(observation: Observation): Plan | undefined {
  const name = unreadableOwnName(observation);
  return name === undefined || isEveryOneGivenUp(observation)
    ? undefined
    : stall(
        "CreateAmbiguous",
        `Status names no endpoint. Endpoint ${name} has the name ending that the operator gives to this resource, but the operator cannot parse that endpoint. The operator continues when it can. ${askToGiveUp(observation)} To remove the resource and leave the endpoint, set spec.deletionPolicy to Retain.`,
      );
}

/**
 * Stalls the resource if its recorded endpoint is gone and another endpoint carries its token. The resource may have
 * made that endpoint, or another client may have copied the name. The operator cannot know, so a person decides.
 */
export function planNamesake(observation: Observation): Plan | undefined {
  const { proven, unproven } = unrecordedOwn(observation);
  return planTokenElsewhere(observation, [...proven, ...unproven]);
}

/** The value of the annotation `resolve-create` that gives up every endpoint with the resource's token. */
const giveUpAll = "abandon=all";

/**
 * Whether a person says by `resolve-create: abandon=all` that no endpoint with this resource's token is the resource's
 * own.
 * The annotation counts while status shows the question, `CreateAmbiguous`. Afterwards it counts while status shows a
 * reason that may follow this answer, such as Creating. Otherwise the annotation may be an old answer, given before
 * status was lost.
 */
function isEveryOneGivenUp(observation: Observation): boolean {
  const { resource } = observation;
  const { conditions, ownership, createIntent } = resource.status;
  const reason = conditionOf(conditions, "Ready")?.reason ?? "";
  const goesOn =
    reason !== "CreateAmbiguous" &&
    (createIntent !== undefined || (ownership === undefined && reasonsAfterAnswer.has(reason)));
  return isGivenUpNow(observation) || (goesOn && saysGiveUpAll(observation));
}

/**
 * Whether a person now gives up every endpoint with the resource's token: the annotation `resolve-create` is
 * `abandon=all`, and the condition Ready has the reason `CreateAmbiguous` and a message that names `abandon=all`.
 */
export function isGivenUpNow(observation: Observation): boolean {
  const { reason, message = "" } = conditionOf(observation.resource.status.conditions, "Ready") ?? {};
  return saysGiveUpAll(observation) && reason === "CreateAmbiguous" && message.includes(giveUpAll);
}

/** Whether status shows the resource Stalled as `CreateAmbiguous`. After a restart that stays while its cause is seen again. */
export function isStalledAsAmbiguous({ resource }: Pick<Observation, "resource">): boolean {
  return conditionOf(resource.status.conditions, "Stalled")?.reason === "CreateAmbiguous";
}

function saysGiveUpAll({ resource }: Observation): boolean {
  return resource.annotations[annotations.resolveCreate] === giveUpAll;
}

/**
 * Reasons of the condition Ready under which an earlier answer `abandon=all` still counts. They hold for a resource with
 * neither an ownership record nor an intent.
 */
const reasonsAfterAnswer: ReadonlySet<string> = new Set<ConditionReason>([
  "AdoptionMismatch",
  "AdoptionTargetMissing",
  "ClaimedByAnother",
  "Creating",
  "EndpointExists",
  "Forgetting",
  "OwnedElsewhere",
  "WaitingForProject",
]);

/**
 * Returns the text that tells a person how to give up every endpoint with the resource's token. If the annotation has
 * that value already, it is older than the question, and the person must remove it first.
 */
export function askToGiveUp(observation: Observation): string {
  return saysGiveUpAll(observation)
    ? `The annotation ${annotations.resolveCreate} is older than this question and does not count. Remove it, and read this message again.`
    : `If none is yours, set the annotation ${annotations.resolveCreate} to ${giveUpAll}.`;
}

/**
 * Plans what follows if endpoints carry this resource's token and no record names them. A person chooses one by
 * annotation, and until then the resource is Stalled. If the operator chose, it might leave an endpoint behind for
 * ever. `undefined`: there is no such endpoint, or a person gave all of them up.
 */
export function planTokenElsewhere(observation: Observation, own: readonly ObservedEndpoint[]): Plan | undefined {
  const [verb, value] = observation.resource.annotations[annotations.resolveCreate]?.split("=") ?? [];
  if (own.length === 0 || isEveryOneGivenUp(observation)) {
    return undefined;
  }
  const chosen = verb === "adopt" ? own.find(({ id }) => id === value) : undefined;
  if (chosen !== undefined) {
    return recordOwnership(observation, chosen, "Adopted");
  }
  const ids = own.map(({ id }) => id).sort();
  const { ownership } = observation.resource.status;
  const state =
    ownership === undefined ? "Status names no endpoint" : `Endpoint ${ownership.endpointId} of this resource is gone`;
  return stall(
    "CreateAmbiguous",
    `${state}, but these endpoints have the name ending that the operator gives to this resource: ${ids.join(", ")}. If one of them is yours, set the annotation ${annotations.resolveCreate} to adopt=<endpoint id>. ${askToGiveUp(observation)} To remove the resource and keep them all, set spec.deletionPolicy to Retain.`,
  );
}

function planNamedAdoption(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  const wantedId = hasConsent(spec) ? spec.adoption?.endpointId : undefined;
  const endpoint = wantedId === undefined ? undefined : observation.project.endpoints.get(wantedId);
  return endpoint === undefined ? undefined : planAdoption(observation, spec, endpoint);
}

/**
 * Plans an adoption or a stall if the branch has a read-write endpoint, or if another resource has the better claim to
 * it. A branch has at most one read-write endpoint.
 */
function planReadWritePlace(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
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

function planAdoption(observation: Observation, spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): Plan {
  const { claims, resource } = observation;
  const rival = holderOf(observation, endpoint) ?? claims.rivalForAdoption(endpoint, resource);
  if (rival !== undefined) {
    return claimedByAnother(observation, rival, "the endpoint to adopt");
  }
  if (isOwnedElsewhere(observation, endpoint) && spec.adoption?.takeOver !== true) {
    return ownedElsewhere(spec);
  }
  if (endpoint.type !== spec.type || endpoint.branchId !== spec.branchId) {
    return stall(
      "AdoptionMismatch",
      `Endpoint ${endpoint.id} is ${endpoint.type} on branch ${endpoint.branchId}; this resource asks for ${spec.type} on branch ${spec.branchId}. Change spec to match the endpoint, or name another endpoint in spec.adoption.endpointId.`,
    );
  }
  return recordOwnership(observation, endpoint, "Adopted");
}

function planAdoptOnlyMiss(spec: ComputeEndpointSpec): Plan | undefined {
  if (spec.adoption?.policy !== "AdoptOnly") {
    return undefined;
  }
  const wanted =
    spec.adoption.endpointId === undefined
      ? `Branch ${spec.branchId} has no read-write endpoint`
      : `Project ${spec.projectId} has no endpoint ${spec.adoption.endpointId}`;
  return stall(
    "AdoptionTargetMissing",
    `${wanted}, and policy AdoptOnly never creates one. Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.`,
  );
}

function readWriteEndpointOf({ project }: Observation, branchId: string): ObservedEndpoint | undefined {
  return [...project.endpoints.values()].find(
    (endpoint) => endpoint.branchId === branchId && endpoint.type === "ReadWrite",
  );
}

/** Finds another resource that owns the endpoint, created it, or may have created it by an open create. */
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

function ownedElsewhere({ branchId }: ComputeEndpointSpec): Plan {
  return stall(
    "OwnedElsewhere",
    `Another cluster or another operator created the endpoint that this resource asks for (branch ${branchId}). If nothing manages the endpoint there any more, set spec.adoption.takeOver to true, with spec.adoption.policy AdoptOrCreate or AdoptOnly. Otherwise choose another branch.`,
  );
}

/** Returns the name of another resource for messages. It is hidden from resources of other namespaces. */
export function ownerName({ key }: Claim, resource: Observation["resource"]): string {
  return key.namespace === resource.key.namespace
    ? `ComputeEndpoint ${key.name}`
    : "a ComputeEndpoint of another namespace";
}

/** Makes the plan for an endpoint that another resource claims: Stalled with the reason ClaimedByAnother. */
export function claimedByAnother({ resource }: Observation, rival: Claim, what: string): Plan {
  const next =
    rival.isGone === true
      ? "a ComputeEndpoint that no longer exists. The operator deletes that endpoint, and then continues with this resource. If that does not end, delete the endpoint in the control plane."
      : `${ownerName(rival, resource)}. Delete one of the two resources. The operator continues with this one when the other is gone.`;
  return stall("ClaimedByAnother", `${what.charAt(0).toUpperCase()}${what.slice(1)} belongs to ${next}`);
}

function endpointExists({ grant, resource }: Observation, endpoint: ObservedEndpoint): Plan {
  if (!grant.mayAdopt) {
    const remedy = notGrantedMessage(resource.key.namespace, endpoint.projectId, "adopt");
    return stall("EndpointExists", `Branch ${endpoint.branchId} already has a read-write endpoint. ${remedy}`);
  }
  return stall(
    "EndpointExists",
    `Branch ${endpoint.branchId} already has the read-write endpoint ${endpoint.id}, and no resource owns it. To take it over, add to spec: adoption: {policy: AdoptOrCreate, endpointId: ${endpoint.id}}. Or delete that endpoint.`,
  );
}
