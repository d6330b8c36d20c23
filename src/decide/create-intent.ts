/** Makes intents, and recognizes the endpoints that a create under an intent may have made. */
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent } from "../resource/status-schema.ts";
import { desiredChanges, fieldStateOf, hashOf } from "./desired-endpoint.ts";
import { endpointName, ownershipToken, planeRecord } from "./identity.ts";
import type { PlanOf } from "./plan.ts";
import type { Observation } from "./resource-step.ts";

/**
 * Returns the plan that creates an endpoint. It uses the stored intent if that still describes spec and the snapshot,
 * else a new intent.
 */
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

/**
 * Makes the intent: the note that the operator stores before it sends a create. It holds what the create will send and
 * which endpoints exist already.
 */
function newIntent({ resource, identity, nowMs, project }: Observation, spec: ComputeEndpointSpec): CreateIntent {
  const time = new Date(nowMs).toISOString();
  const fields = desiredChanges(spec);
  return {
    attempt: hashOf([resource.uid, time, project.startedAtMs]).slice(0, 10),
    token: ownershipToken(identity.clusterId, resource.uid),
    ...planeRecord(identity),
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

/**
 * Whether the stored intent still describes what spec asks for and which endpoints exist already. If so, it is used
 * again without a write.
 */
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

/**
 * Returns the sorted ids of the endpoints of a branch and type. An endpoint that cannot be parsed is included, because
 * it may be one of them.
 */
function presentIds(
  { project }: Pick<Observation, "project">,
  { branchId, type }: Pick<CreateIntent, "branchId" | "type">,
): string[] {
  const ids = [...project.endpoints.values()]
    .filter((endpoint) => endpoint.branchId === branchId && endpoint.type === type)
    .map(({ id }) => id);
  return [...ids, ...project.unreadableIds.filter((id) => id !== "")].sort();
}

/**
 * The assumed clock error of the control plane, in milliseconds. Clocks of its machines may differ by this time, and
 * a clock may step back by it.
 */
const clockErrorMs = 90 * 60_000;

/**
 * Whether an endpoint without a name may come from the intent's POST. Its creation time must not be earlier than the
 * snapshot of the intent, apart from the clock error. No field that was sent may show another value. Both times are
 * the control plane's.
 */
export function isSuspect(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  const { fields } = intent;
  const isShownAsSent = fields !== undefined && fieldStateOf(fields as EndpointChanges, endpoint) !== "Differs";
  return isShownAsSent && createdAfterSnapshotMs(intent, endpoint) >= -clockErrorMs;
}

/**
 * Whether the creation time of a suspect also fits the intent's POST. Only such a suspect may be taken as our own
 * without a person.
 */
export function isDatedAsSent(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  return canPresume(intent) && createdAfterSnapshotMs(intent, endpoint) >= 0;
}

/**
 * Returns the time from the intent's snapshot to the creation of the endpoint, in milliseconds. NaN: the snapshot had
 * no time, or the creation time cannot be read.
 */
function createdAfterSnapshotMs({ serviceTime = "" }: CreateIntent, { createdTime }: ObservedEndpoint): number {
  // The Date header has whole seconds only.
  return Date.parse(createdTime) - Math.floor(Date.parse(serviceTime) / 1_000) * 1_000;
}

/**
 * Whether the intent holds enough to recognize an endpoint without a name. An intent of an early version, or an intent
 * stored without a `Date` header, does not.
 */
export function canPresume({ serviceTime, fields }: CreateIntent): boolean {
  return serviceTime !== undefined && fields !== undefined;
}
