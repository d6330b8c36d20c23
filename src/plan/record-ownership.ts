import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Ownership } from "../resource/status-schema.ts";
import { ownerAmong } from "./claims.ts";
import type { Observation } from "./observation.ts";
import { ownershipToken, tokenIn } from "./ownership-token.ts";
import type { Plan } from "./plan.ts";

/** The record that makes an endpoint this resource's own. */
export function ownershipOf(
  { resource, identity }: Pick<Observation, "resource" | "identity">,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Ownership {
  return {
    endpointId: endpoint.id,
    origin,
    resourceUid: resource.uid,
    clusterId: identity.clusterId,
    serviceUrl: identity.serviceUrl,
    projectId: endpoint.projectId,
  };
}

/** The plan that stores such a record. */
export function recordOwnership(
  observation: Observation,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Extract<Plan, { kind: "RecordOwnership" }> {
  const ownership = ownershipOf(observation, endpoint, origin);
  return { kind: "RecordOwnership", ownership, endpoint, acknowledgedHash: undefined };
}

/** A create of ours was answered and the answer is not stored yet: nothing comes before that. */
export function recordAnsweredCreate(observation: Observation): Plan | undefined {
  const { answeredCreate } = observation.memory;
  if (answeredCreate === undefined || observation.resource.status.ownership !== undefined) {
    return undefined;
  }
  return { ...recordOwnership(observation, answeredCreate.endpoint, "Created"), acknowledgedHash: answeredCreate.hash };
}

/**
 * Our token is on an endpoint that no record names: the answer to its create was lost, or the record was, for instance
 * with a restored etcd. Of two the oldest is kept.
 */
export function planRediscovery(observation: Observation): Plan | undefined {
  const own = endpointsWithOwnToken(observation).find(({ id }) => ownerAmong(observation.claims, id) === undefined);
  return own === undefined ? undefined : recordOwnership(observation, own, "Created");
}

/** Endpoints of the project whose name carries this resource's token, oldest first. */
export function endpointsWithOwnToken(observation: Observation): readonly ObservedEndpoint[] {
  const token = ownershipToken(observation.identity.clusterId, observation.resource.uid);
  return observation.project.endpoints
    .filter((endpoint) => tokenIn(endpoint.name) === token)
    .sort((a, b) => Date.parse(a.createdTime) - Date.parse(b.createdTime) || (a.id < b.id ? -1 : 1));
}
