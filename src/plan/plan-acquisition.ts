import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import { type Claim, creatorAmong, ownerAmong, rivalForAdoption, rivalForBranch, suspectorAmong } from "./claims.ts";
import { newIntent } from "./create-intent.ts";
import type { Observation, Policy } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { planRediscovery, recordOwnership } from "./record-ownership.ts";
import { waitForTurn } from "./wait-for-turn.ts";

/** The next step of a resource that owns nothing and has no create under way: take over, create, or say why not. */
export function planAcquisition(observation: Observation, spec: ComputeEndpointSpec, policy: Policy): Plan {
  return (
    planRediscovery(observation) ??
    planNamedAdoption(observation, spec) ??
    planReadWritePlace(observation, spec) ??
    planAdoptOnlyMiss(spec) ??
    planCreate(observation, spec, policy)
  );
}

function planNamedAdoption(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  const wanted = spec.adoption?.policy === "Never" ? undefined : spec.adoption?.endpointId;
  const endpoint = observation.project.endpoints.find(({ id }) => id === wanted);
  return endpoint === undefined ? undefined : planAdoption(observation, spec, endpoint);
}

/** A branch has at most one read-write endpoint: whoever is there, or comes first, decides what we may do. */
function planReadWritePlace(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  if (spec.type !== "ReadWrite") {
    return undefined;
  }
  const present = readWriteOf(observation, spec.branchId);
  if (present === undefined) {
    const rival = rivalForBranch(observation.claims, spec.branchId, observation.resource);
    return rival && claimedByAnother(observation, rival, "the read-write endpoint of this branch");
  }
  const isConsented = spec.adoption !== undefined && spec.adoption.policy !== "Never";
  if (isConsented && spec.adoption?.endpointId === undefined) {
    return planAdoption(observation, spec, present);
  }
  const holder = holderOf(observation, present);
  return holder
    ? claimedByAnother(observation, holder, "the read-write endpoint of this branch")
    : endpointExists(present);
}

function planAdoption(observation: Observation, spec: ComputeEndpointSpec, endpoint: ObservedEndpoint): Plan {
  const { claims, resource } = observation;
  const rival = holderOf(observation, endpoint) ?? rivalForAdoption(claims, endpoint, resource);
  if (rival !== undefined) {
    return claimedByAnother(observation, rival, `endpoint ${endpoint.id}`);
  }
  if (endpoint.type !== spec.type || endpoint.branchId !== spec.branchId) {
    return {
      kind: "Stall",
      reason: "AdoptionMismatch",
      message: `Endpoint ${endpoint.id} is ${endpoint.type} on branch ${endpoint.branchId}, this resource asks for ${spec.type} on branch ${spec.branchId}. Make spec say what the endpoint is, or name another endpoint in spec.adoption.endpointId.`,
    };
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
  return {
    kind: "Stall",
    reason: "AdoptionTargetMissing",
    message: `${wanted}, and policy AdoptOnly never creates one. Correct spec.adoption.endpointId, or set spec.adoption.policy to AdoptOrCreate.`,
  };
}

function planCreate(observation: Observation, spec: ComputeEndpointSpec, policy: Policy): Plan {
  return observation.createTurn.kind === "Ours"
    ? { kind: "RecordIntent", intent: newIntent(observation, spec) }
    : waitForTurn(policy);
}

function readWriteOf(observation: Observation, branchId: string): ObservedEndpoint | undefined {
  return observation.project.endpoints.find(
    (endpoint) => endpoint.branchId === branchId && endpoint.type === "ReadWrite",
  );
}

/** The resource that owns the endpoint, or whose create made it or may have made it. */
function holderOf({ claims, identity }: Observation, endpoint: ObservedEndpoint): Claim | undefined {
  return (
    ownerAmong(claims, endpoint.id) ??
    creatorAmong(claims, endpoint, identity.clusterId) ??
    suspectorAmong(claims, endpoint)
  );
}

/** The winner is named only within the namespace: others are none of the reader's business. */
export function claimedByAnother({ resource }: Observation, rival: Claim, what: string): Plan {
  const who =
    rival.key.namespace === resource.key.namespace
      ? `ComputeEndpoint ${rival.key.name}`
      : "a ComputeEndpoint of another namespace";
  return {
    kind: "Stall",
    reason: "ClaimedByAnother",
    message: `${capitalized(what)} belongs to ${who}. Delete one of the two resources; this one is looked at again when the other goes.`,
  };
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function endpointExists(endpoint: ObservedEndpoint): Plan {
  return {
    kind: "Stall",
    reason: "EndpointExists",
    message: `Branch ${endpoint.branchId} already has the read-write endpoint ${endpoint.id}, which no resource owns. To take it over, add to spec: adoption: {policy: AdoptOrCreate, endpointId: ${endpoint.id}}. Or delete that endpoint.`,
  };
}
