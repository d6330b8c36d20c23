import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { desiredChanges, hashOf } from "./desired-endpoint.ts";
import { fieldStateOf } from "./diff-endpoint.ts";
import type { Observation } from "./observation.ts";
import { endpointName, ownershipToken } from "./ownership-token.ts";
import type { PlanOf } from "./plan.ts";

/** The plan that creates an endpoint: under a stored intent that still says what is wanted, else under a new one. */
export function createUnder(
  observation: Observation,
  spec: ComputeEndpointSpec,
  stored: CreateIntent | undefined,
): PlanOf<"CreateEndpoint"> {
  const isIntentStored = stored !== undefined && saysWhatIsWanted(observation, spec, stored);
  const intent = isIntentStored ? stored : newIntent(observation, spec);
  const changes = desiredChanges(spec);
  const creation: EndpointCreation = {
    ...changes,
    branchId: spec.branchId,
    type: spec.type,
    name: endpointName(observation.resource.key.name, intent.token),
  };
  return { kind: "CreateEndpoint", intent, isIntentStored, creation, hash: hashOf(changes) };
}

/** The note that the operator stores before it sends a create: what it will send, and what existed before. */
function newIntent({ resource, identity, nowMs, project }: Observation, spec: ComputeEndpointSpec): CreateIntent {
  const time = new Date(nowMs).toISOString();
  const fields = desiredChanges(spec);
  return {
    attempt: hashOf([resource.uid, time, project.startedAtMs]).slice(0, 10),
    token: ownershipToken(identity.clusterId, resource.uid),
    serviceUrl: identity.serviceUrl,
    projectId: spec.projectId,
    branchId: spec.branchId,
    type: spec.type,
    bodyHash: hashOf(fields),
    fields: { ...fields, ...(fields.pgSettings === undefined ? {} : { pgSettings: { ...fields.pgSettings } }) },
    preIds: presentIds({ project }, spec),
    ...(project.serviceTimeMs === undefined ? {} : { serviceTime: new Date(project.serviceTimeMs).toISOString() }),
    time,
  };
}

/** Whether a new intent would say the same as the stored one. Then the stored one serves, without a write. */
function saysWhatIsWanted(observation: Observation, spec: ComputeEndpointSpec, intent: CreateIntent): boolean {
  return (
    isForPlaceOf(intent, spec) &&
    intent.bodyHash === hashOf(desiredChanges(spec)) &&
    (intent.serviceTime !== undefined || observation.project.serviceTimeMs === undefined) &&
    isSameStored([...intent.preIds].sort(), presentIds(observation, spec))
  );
}

/** Whether an intent is for the branch and type that a spec asks for. */
export function isForPlaceOf(intent: CreateIntent, spec: ComputeEndpointSpec): boolean {
  return intent.projectId === spec.projectId && intent.branchId === spec.branchId && intent.type === spec.type;
}

/** Ids of the endpoints of a branch and type, sorted. An endpoint that cannot be parsed may be one of them. */
function presentIds(
  { project }: Pick<Observation, "project">,
  { branchId, type }: Pick<CreateIntent, "branchId" | "type">,
): string[] {
  const ids = [...project.endpoints.values()]
    .filter((endpoint) => endpoint.branchId === branchId && endpoint.type === type)
    .map(({ id }) => id);
  return [...ids, ...project.unreadableIds.filter((id) => id !== "")].sort();
}

/** The clocks of the control plane's machines may differ, and step back, by this much. */
const clockErrorMs = 90 * 60_000;

/**
 * Whether a nameless endpoint may be the one that the intent's POST made: it is dated no earlier than the snapshot of the
 * intent, but for the error of a clock, and shows every field as it was sent. Both times are the control plane's.
 */
export function isSuspect(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  const { fields } = intent;
  const isShownAsSent = fields !== undefined && fieldStateOf(fields as EndpointChanges, endpoint) !== "Differs";
  return isShownAsSent && createdAfterSnapshotMs(intent, endpoint) >= -clockErrorMs;
}

/** Whether a suspect is also dated as the intent's POST would have dated it. Only then it is presumed to be ours. */
export function isDatedAsSent(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  return canPresume(intent) && createdAfterSnapshotMs(intent, endpoint) >= 0;
}

/** How much later than the snapshot of the intent an endpoint is dated; NaN: the snapshot had no time. */
function createdAfterSnapshotMs({ serviceTime = "" }: CreateIntent, { createdTime }: ObservedEndpoint): number {
  // The Date header has whole seconds.
  return Date.parse(createdTime) - Math.floor(Date.parse(serviceTime) / 1_000) * 1_000;
}

/** Whether the intent was stored by an early version, or without a `Date` header: then nothing nameless is presumed. */
export function canPresume({ serviceTime, fields }: CreateIntent): boolean {
  return serviceTime !== undefined && fields !== undefined;
}
