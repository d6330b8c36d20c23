/** Finds the endpoints that a lost create, or a resource with a lost status, may own. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { compareServiceTimes } from "../domain/operation.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import { canPresume, isSuspect } from "./create-intent.ts";
import { ownershipToken, planeRecord, tokenIn } from "./identity.ts";
import type { PlanOf } from "./plan.ts";
import type { LocalObservation, Observation } from "./resource-step.ts";

/**
 * The endpoints that appeared after an intent was stored, sorted by whether a POST of the intent may have created them.
 * Each list is ordered by creation time.
 */
export interface Candidates {
  /** Endpoints whose name carries this resource's token: its create made them. */
  readonly own: readonly ObservedEndpoint[];
  /** Endpoints without a name that this resource's create may have made. */
  readonly suspects: readonly ObservedEndpoint[];
  /** Endpoints that another client made. */
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
export interface UnrecordedEndpoints {
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
  // In a burst every endpoint has an owner, so computing the token would be wasted work.
  const token = unowned.length === 0 ? "" : tokenOf(observation);
  const own = unowned.filter(({ name }) => tokenIn(name) === token).sort(byCreation);
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const isProven = ({ branchId, type }: ObservedEndpoint) => branchId === spec?.branchId && type === spec.type;
  return { proven: own.filter(isProven), unproven: own.filter((endpoint) => !isProven(endpoint)) };
}

/** Finds the name of a listed endpoint that cannot be parsed, but whose name carries this resource's token, if any. */
export function unreadableOwnName(observation: Observation): string | undefined {
  const { unreadableNames = [] } = observation.project;
  // Almost every list can be read, and the token would be hashed in vain.
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

/** Makes the ownership record that ties an endpoint to this resource. */
export function ownershipOf(
  { resource, identity }: Pick<LocalObservation, "resource" | "identity">,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Ownership {
  return {
    endpointId: endpoint.id,
    origin,
    resourceUid: resource.uid,
    clusterId: identity.clusterId,
    ...planeRecord(identity),
    projectId: endpoint.projectId,
  };
}

function tokenOf({ identity, resource }: LocalObservation): string {
  return ownershipToken(identity.clusterId, resource.uid);
}

function byCreation(a: ObservedEndpoint, b: ObservedEndpoint): number {
  return compareServiceTimes(a.createdTime, b.createdTime) || (a.id < b.id ? -1 : 1);
}
