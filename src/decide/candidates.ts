import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { compareServiceTimes } from "../domain/operation.ts";
import type { CreateIntent, Ownership } from "../resource/status-schema.ts";
import { canPresume, isSuspect } from "./create-intent.ts";
import type { LocalObservation, Observation } from "./observation.ts";
import { ownershipToken, tokenIn } from "./ownership-token.ts";
import type { PlanOf } from "./plan.ts";

/** What the endpoints that appeared since an intent say about its POSTs. Each list is sorted by creation. */
export interface Candidates {
  /** They carry our token: our create made them. */
  readonly own: readonly ObservedEndpoint[];
  /** They have no name, and nothing rules out that our create made them. */
  readonly suspects: readonly ObservedEndpoint[];
  /** Another client made them. */
  readonly foreign: readonly ObservedEndpoint[];
}

/** Sorts the unowned endpoints of an intent's branch and type that are not in its `preIds`. */
export function candidatesOf(observation: Observation, intent: CreateIntent): Candidates {
  const { project, claims, resource } = observation;
  const token = tokenOf(observation);
  const appeared = [...project.endpoints.values()]
    .filter(
      (endpoint) =>
        endpoint.branchId === intent.branchId &&
        endpoint.type === intent.type &&
        !intent.preIds.includes(endpoint.id) &&
        claims.ownerOf(endpoint.id, resource.uid) === undefined,
    )
    .sort(byCreation);
  const own = appeared.filter(({ name }) => tokenIn(name) === token);
  const isNameless = ({ name }: ObservedEndpoint) => name === undefined && !project.echoesNames;
  const suspects = appeared.filter(
    (endpoint) => isNameless(endpoint) && (!canPresume(intent) || isSuspect(intent, endpoint)),
  );
  const foreign = appeared.filter((endpoint) => !own.includes(endpoint) && !suspects.includes(endpoint));
  return { own, suspects, foreign };
}

/** Endpoints that carry our token although status names none. Sorted by creation. */
export interface UnrecordedEndpoints {
  /** On the branch and of the type that spec asks for: our create made them, and status was lost. */
  readonly proven: readonly ObservedEndpoint[];
  /** Elsewhere: spec changed since, or a person copied the name. */
  readonly unproven: readonly ObservedEndpoint[];
}

/** Finds the endpoints of a resource whose status was lost, for instance when etcd was restored. */
export function unrecordedOwn(observation: Observation): UnrecordedEndpoints {
  const { project, claims, resource } = observation;
  const token = tokenOf(observation);
  const own = [...project.endpoints.values()]
    .filter(({ id, name }) => tokenIn(name) === token && claims.ownerOf(id, resource.uid) === undefined)
    .sort(byCreation);
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const isProven = ({ branchId, type }: ObservedEndpoint) => branchId === spec?.branchId && type === spec.type;
  return { proven: own.filter(isProven), unproven: own.filter((endpoint) => !isProven(endpoint)) };
}

/** The plan that stores the record that makes an endpoint this resource's own. */
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

/** The ownership record of an endpoint for this resource. */
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
    serviceUrl: identity.serviceUrl,
    projectId: endpoint.projectId,
  };
}

function tokenOf({ identity, resource }: LocalObservation): string {
  return ownershipToken(identity.clusterId, resource.uid);
}

function byCreation(a: ObservedEndpoint, b: ObservedEndpoint): number {
  return compareServiceTimes(a.createdTime, b.createdTime) || (a.id < b.id ? -1 : 1);
}
