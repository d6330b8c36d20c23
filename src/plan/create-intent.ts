import type { EndpointCreation } from "../domain/endpoint.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { desiredChanges, hashOf } from "./desired-endpoint.ts";
import type { Observation } from "./observation.ts";
import { endpointName, ownershipToken } from "./ownership-token.ts";

/** The note that is stored before a create is sent: what will be sent, and what was there before. */
export function newIntent(observation: Observation, spec: ComputeEndpointSpec): CreateIntent {
  const { resource, identity, nowMs } = observation;
  const time = new Date(nowMs).toISOString();
  return {
    attempt: hashOf([resource.uid, time]).slice(0, 10),
    token: ownershipToken(identity.clusterId, resource.uid),
    serviceUrl: identity.serviceUrl,
    projectId: spec.projectId,
    branchId: spec.branchId,
    type: spec.type,
    bodyHash: hashOf(desiredChanges(spec)),
    preIds: presentIds(observation, spec),
    time,
  };
}

/** Ids of the endpoints of a branch and type, sorted. */
export function presentIds(
  { project }: Observation,
  { branchId, type }: Pick<CreateIntent, "branchId" | "type">,
): string[] {
  return project.endpoints
    .filter((endpoint) => endpoint.branchId === branchId && endpoint.type === type)
    .map(({ id }) => id)
    .sort();
}

/** Whether an intent still says what would be recorded now, and freshly enough to send under it. */
export function isIntentCurrent(observation: Observation, intent: CreateIntent, spec: ComputeEndpointSpec): boolean {
  return (
    intent.projectId === spec.projectId &&
    intent.branchId === spec.branchId &&
    intent.type === spec.type &&
    intent.bodyHash === hashOf(desiredChanges(spec)) &&
    hashOf(intent.preIds) === hashOf(presentIds(observation, intent)) &&
    isIntentFresh(intent, observation.nowMs)
  );
}

/** A request goes out soon after the intent was recorded or renewed, so that its time bounds when it may land. */
export const intentFreshMs = 60_000;

/** Whether a request may still be sent under the intent as it is. */
export function isIntentFresh(intent: CreateIntent, nowMs: number): boolean {
  const ageMs = nowMs - Date.parse(intent.time);
  return ageMs <= intentFreshMs && ageMs >= -intentFreshMs;
}

/** The plan that sends the create of an intent, with the present spec's managed fields on the intent's branch. */
export function createUnder(observation: Observation, intent: CreateIntent, spec: ComputeEndpointSpec) {
  const changes = desiredChanges(spec);
  const creation: EndpointCreation = {
    ...changes,
    branchId: intent.branchId,
    type: intent.type,
    name: endpointName(observation.resource.key.name, intent.token),
  };
  return { kind: "CreateEndpoint", intent, creation, hash: hashOf(changes) } as const;
}
