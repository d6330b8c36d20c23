import { ownerAmong } from "./claims.ts";
import type { Observation } from "./observation.ts";
import type { Plan } from "./plan.ts";
import { endpointsWithOwnToken } from "./record-ownership.ts";

/** A second endpoint with our own token is a create that landed twice: only the recorded one stays. */
export function planDuplicate(observation: Observation): Plan | undefined {
  const ownedId = observation.resource.status.ownership?.endpointId;
  const duplicate = endpointsWithOwnToken(observation).find(
    ({ id }) => ownedId !== undefined && id !== ownedId && ownerAmong(observation.claims, id) === undefined,
  );
  return duplicate === undefined ? undefined : { kind: "DeleteEndpoint", endpointId: duplicate.id, cause: "Duplicate" };
}
