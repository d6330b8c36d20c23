/** Makes the intents of creates, and finds the endpoints that a create may have made. */
import type { EndpointCreation, ObservedEndpoint } from "../../domain/endpoint.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { remoteStateOf } from "../../engine/project-reads.ts";
import { endpointName, ownershipOf, ownershipToken, planeRecord, tokenIn } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import type { PlacedSpec } from "../../resource/spec-schema.ts";
import type { CreateIntent, Ownership } from "../../resource/status-schema.ts";
import { desiredChanges, hashOf } from "./desired-endpoint.ts";
import { type EndpointFacts, lookAt, type Observation, type Plan, type PlanOf } from "./plan.ts";

/** Uses `stored` if it is for the same place and the list shows the same endpoints there; else a new intent. */
export function createUnder(
  observation: Observation,
  spec: PlacedSpec,
  stored: CreateIntent | undefined,
): PlanOf<"CreateEndpoint"> {
  const preIds = presentIds(observation, spec);
  const isUsable = stored !== undefined && isForPlaceOf(stored, spec) && isSameStored(stored.preIds, preIds);
  const intent = isUsable ? stored : newIntent(observation, spec, preIds);
  const changes = desiredChanges(spec);
  const creation: EndpointCreation = {
    ...changes,
    branchId: spec.branchId,
    type: spec.type,
    name: endpointName(observation.resource.key.name, intent.token),
  };
  return { kind: "CreateEndpoint", intent, creation, hash: hashOf(changes) };
}

function newIntent(observation: Observation, spec: PlacedSpec, preIds: string[]): CreateIntent {
  const { resource, identity, project } = observation;
  return {
    attempt: hashOf([resource.uid, resource.resourceVersion, project.startedAtMs]).slice(0, 10),
    token: tokenOf(observation),
    ...planeRecord(identity),
    projectId: spec.projectId,
    branchId: spec.branchId,
    type: spec.type,
    preIds,
  };
}

export function isForPlaceOf(intent: CreateIntent, spec: PlacedSpec): boolean {
  return intent.projectId === spec.projectId && intent.branchId === spec.branchId && intent.type === spec.type;
}

/**
 * Returns the sorted ids of the endpoints of a branch and type. An entry that cannot be parsed is included, because it
 * may be one of them.
 */
function presentIds({ project }: Observation, { branchId, type }: Pick<CreateIntent, "branchId" | "type">): string[] {
  const ids = [...project.endpoints.values()]
    .filter((endpoint) => endpoint.branchId === branchId && endpoint.type === type)
    .map(({ id }) => id);
  return [...ids, ...project.unreadableIds].sort();
}

/** The endpoints that a create may have made: no resource owns them, and they are not in `preIds`. */
export interface Candidates {
  /** Endpoints of the type, on whatever branch, whose name carries this resource's token: its create made them. */
  readonly own: readonly ObservedEndpoint[];
  /** Endpoints of the branch and type, if the list shows no names. */
  readonly nameless: readonly ObservedEndpoint[];
  /** Entries of the list that cannot be parsed. The id "" stands for all entries without an id. */
  readonly unreadableIds: readonly string[];
}

export function candidatesOf(
  observation: Observation,
  { branchId, type, preIds }: Pick<CreateIntent, "branchId" | "type" | "preIds">,
): Candidates {
  const { project, claims, resource } = observation;
  const isFree = (id: string) => !preIds.includes(id) && claims.ownerOf(id, resource.uid) === undefined;
  const free = [...project.endpoints.values()].filter((endpoint) => endpoint.type === type && isFree(endpoint.id));
  // Usually every endpoint has an owner, and no token must be computed.
  const token = free.length === 0 ? "" : tokenOf(observation);
  return {
    own: free.filter(({ name }) => tokenIn(name) === token),
    nameless: project.echoesNames ? [] : free.filter((endpoint) => endpoint.branchId === branchId),
    unreadableIds: project.unreadableIds.filter(isFree),
  };
}

/** Finds the endpoint that a person names by `resolve-create: adopt=<id>`; `undefined`: none of these. */
export function chosenOf({ resource }: EndpointFacts, endpoints: readonly ObservedEndpoint[]) {
  const answer = resource.annotations[annotations.resolveCreate];
  return endpoints.find(({ id }) => answer === `adopt=${id}`);
}

/** Plans to store an ownership record. If only a list shows the endpoint, it is read by id first. */
export function recordOwnership(
  observation: Observation,
  endpoint: ObservedEndpoint,
  origin: Ownership["origin"],
): Plan {
  const { id: endpointId } = endpoint;
  return remoteStateOf(observation.project, endpointId).kind !== "Present"
    ? lookAt(endpointId)
    : {
        kind: "RecordOwnership",
        ownership: ownershipOf(observation, endpoint, origin),
        endpoint,
        acknowledgedHash: undefined,
      };
}

function tokenOf({ identity, resource }: EndpointFacts): string {
  return ownershipToken(identity.clusterId, resource.uid);
}
