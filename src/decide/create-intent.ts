/**
 * Makes the intents of creates. Finds the endpoints that a create may have made, if the answer to the create or the
 * status was lost.
 */
import type { EndpointChanges, EndpointCreation, ObservedEndpoint } from "../domain/endpoint.ts";
import { compareServiceTimes } from "../domain/operation.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { ComputeEndpointSpec } from "../resource/spec-schema.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import { desiredChanges, fieldStateOf, hashOf } from "./desired-endpoint.ts";
import { endpointName, ownershipOf, ownershipToken, planeRecord, tokenIn } from "./identity.ts";
import type { LocalObservation, Observation } from "./observation.ts";
import type { Plan, PlanOf } from "./plan.ts";

/**
 * Returns the plan that creates an endpoint. It uses `stored` if that intent still describes spec and the snapshot,
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
 * Waits while another create on the same branch and of the same type is unresolved, if the control plane shows no
 * names. Otherwise the operator could not tell which create made which endpoint. `undefined`: there is no need to wait.
 */
export function waitForOtherCreate(observation: Observation, spec: ComputeEndpointSpec): Plan | undefined {
  const { project, claims, resource, policy } = observation;
  if (project.echoesNames || claims.unresolvedCreateAt(spec, resource) === undefined) {
    return undefined;
  }
  return {
    kind: "Wait",
    reason: "WaitingForProject",
    message: "The result of another create on this branch is not known yet. The operator sends this create after it.",
    waitMs: policy.operationPollMs,
  };
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

/** Whether an intent is for the project, branch and type that a spec asks for. */
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
function isSuspect(intent: CreateIntent, endpoint: ObservedEndpoint): boolean {
  const { fields } = intent;
  const isShownAsSent = fields !== undefined && fieldStateOf(fields as EndpointChanges, endpoint) !== "Differs";
  return isShownAsSent && createdAfterSnapshotMs(intent, endpoint) >= -clockErrorMs;
}

/**
 * Whether a suspect was created after the snapshot of the intent, even without the clock error. Only such a suspect may
 * be recorded as our own without asking a person.
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
function canPresume({ serviceTime, fields }: CreateIntent): boolean {
  return serviceTime !== undefined && fields !== undefined;
}

/**
 * The endpoints that appeared after an intent was stored, sorted by whether a POST of the intent may have created them.
 * Each list is ordered by creation time.
 */
export interface Candidates {
  /** Endpoints whose name carries this resource's token: its create made them. */
  readonly own: readonly ObservedEndpoint[];
  /** Endpoints without a name that this resource's create may have made. Empty if the control plane shows names. */
  readonly suspects: readonly ObservedEndpoint[];
  /** All other endpoints: another client made them. */
  readonly foreign: readonly ObservedEndpoint[];
}

/**
 * Sorts the endpoints that appeared after an intent was stored. It considers endpoints of the intent's branch and type
 * that no resource owns and that are not in `preIds`.
 */
export function candidatesOf(observation: Observation, intent: CreateIntent): Candidates {
  const { project, claims, resource } = observation;
  const appeared = [...project.endpoints.values()]
    .filter(
      (endpoint) =>
        endpoint.branchId === intent.branchId &&
        endpoint.type === intent.type &&
        !intent.preIds.includes(endpoint.id) &&
        claims.ownerOf(endpoint.id, resource.uid) === undefined,
    )
    .sort(byCreation);
  const token = appeared.length === 0 ? "" : tokenOf(observation);
  const own = appeared.filter(({ name }) => tokenIn(name) === token);
  const isNameless = ({ name }: ObservedEndpoint) => name === undefined && !project.echoesNames;
  const suspects = appeared.filter(
    (endpoint) => isNameless(endpoint) && (!canPresume(intent) || isSuspect(intent, endpoint)),
  );
  const foreign = appeared.filter((endpoint) => !own.includes(endpoint) && !suspects.includes(endpoint));
  return { own, suspects, foreign };
}

/**
 * Endpoints whose name carries this resource's token, and which no other resource owns. Each list is ordered by
 * creation time.
 */
interface UnrecordedEndpoints {
  /**
   * Endpoints on the branch and of the type that spec asks for. If status was lost, this resource created them.
   */
  readonly proven: readonly ObservedEndpoint[];
  /**
   * Endpoints of another branch or type than spec asks for; all of them if spec is invalid. Either spec has changed
   * since, or a person copied the name.
   */
  readonly unproven: readonly ObservedEndpoint[];
}

/** Finds the endpoints that carry a resource's token, because status may have been lost when etcd was restored. */
export function unrecordedOwn(observation: Observation): UnrecordedEndpoints {
  const { project, claims, resource } = observation;
  const unowned = [...project.endpoints.values()].filter(({ id }) => claims.ownerOf(id, resource.uid) === undefined);
  // Usually every endpoint has an owner, and no token must be computed.
  const token = unowned.length === 0 ? "" : tokenOf(observation);
  const own = unowned.filter(({ name }) => tokenIn(name) === token).sort(byCreation);
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const isProven = ({ branchId, type }: ObservedEndpoint) => branchId === spec?.branchId && type === spec.type;
  return { proven: own.filter(isProven), unproven: own.filter((endpoint) => !isProven(endpoint)) };
}

/** Finds the name of a listed endpoint that cannot be parsed, but whose name carries this resource's token, if any. */
export function unreadableOwnName(observation: Observation): string | undefined {
  const { unreadableNames = [] } = observation.project;
  // Usually every listed endpoint can be parsed, and no token must be computed.
  const token = unreadableNames.length === 0 ? "" : tokenOf(observation);
  return unreadableNames.find((name) => tokenIn(name) === token);
}

/** Returns the plan that stores an ownership record. With this record the endpoint belongs to the resource. */
export function recordOwnership(
  observation: LocalObservation,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): PlanOf<"RecordOwnership"> {
  return {
    kind: "RecordOwnership",
    ownership: ownershipOf(observation, endpoint, origin),
    endpoint,
    acknowledgedHash: undefined,
  };
}

function tokenOf({ identity, resource }: LocalObservation): string {
  return ownershipToken(identity.clusterId, resource.uid);
}

function byCreation(a: ObservedEndpoint, b: ObservedEndpoint): number {
  return compareServiceTimes(a.createdTime, b.createdTime) || (a.id < b.id ? -1 : 1);
}
