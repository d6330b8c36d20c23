/** Plans the next step of a resource that owns no endpoint. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { notGrantedMessage } from "../../engine/grant.ts";
import { stall } from "../../engine/kind.ts";
import { isTokenOfCluster, tokenIn } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { Claim } from "./claims.ts";
import { hasConsent } from "./claims.ts";
import { candidatesOf, chosenOf, createUnder, recordOwnership } from "./create-intent.ts";
import type { Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";

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
export function planOwnToken(observation: Observation, own: readonly ObservedEndpoint[]): Plan | undefined {
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
    return stall(
      "AdoptionMismatch",
      `Endpoint ${endpoint.id} is ${endpoint.type} on branch ${endpoint.branchId}; this resource asks for ${spec.type} on branch ${spec.branchId}. Change spec to match the endpoint, or name another endpoint in spec.adoption.endpointId.`,
    );
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
  return stall(
    "AdoptionTargetMissing",
    `${wanted}, and policy AdoptOnly never creates one. Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.`,
  );
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

export function claimedByAnother({ resource }: Observation, rival: Claim, what: string): Plan {
  return stall(
    "ClaimedByAnother",
    `${what.charAt(0).toUpperCase()}${what.slice(1)} belongs to ${ownerName(rival, resource)}. Delete one of the two resources. The operator continues with this one when the other is gone.`,
  );
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
