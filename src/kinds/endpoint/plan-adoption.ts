/** Plans adoptions, and what follows if another resource or endpoint has the place that a resource asks for. */
import type { ObservedEndpoint } from "../../domain/endpoint.ts";
import { notGrantedMessage } from "../../engine/grant.ts";
import { stall } from "../../engine/kind.ts";
import { isTokenOfCluster, tokenIn } from "../../resource/identity.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import { type Claim, hasConsent } from "./claims.ts";
import { type Observation, type Plan, recordOwnership } from "./plan.ts";

export function planNamedAdoption(observation: Observation, spec: PlacedSpec): Plan | undefined {
  const wantedId = hasConsent(spec) ? spec.adoption?.endpointId : undefined;
  const endpoint = wantedId === undefined ? undefined : observation.snapshot.endpoints.get(wantedId);
  return endpoint === undefined ? undefined : planAdoption(observation, spec, endpoint);
}

/**
 * Plans an adoption or a stall if the branch has a read-write endpoint, or if another resource has the better claim to
 * it. A branch has at most one read-write endpoint.
 */
export function planReadWritePlace(observation: Observation, spec: PlacedSpec): Plan | undefined {
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

export function planAdoptOnlyMiss(spec: PlacedSpec): Plan | undefined {
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

export function readWriteEndpointOf({ snapshot }: Observation, branchId: string): ObservedEndpoint | undefined {
  return [...snapshot.endpoints.values()].find(
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
    const remedy = notGrantedMessage(resource.key.namespace, { projectId: endpoint.projectId }, "adopt");
    return stall("EndpointExists", `Branch ${endpoint.branchId} already has a read-write endpoint. ${remedy}`);
  }
  const message = `Branch ${endpoint.branchId} already has the read-write endpoint ${endpoint.id}, and no resource owns it. To take it over, add to spec: adoption: {policy: AdoptOrCreate, endpointId: ${endpoint.id}}. Or delete that endpoint.`;
  return stall("EndpointExists", message);
}
