import { type ProjectSnapshot, pooledHostOf } from "../../domain/endpoint.ts";
import { keyText, type ResourceKey } from "../../domain/resource-store.ts";
import { type CommonPlan, stall, wait } from "../../engine/kind.ts";
import { type BranchPlace, byId, placeOf } from "../../resource/branch-place.ts";
import { type ComputeEndpoint, noProject, workKeyOf } from "../../resource/compute-endpoint.ts";
import { planeIndex } from "../../resource/control-plane-resource.ts";
import { type DatabaseAccess, endpointKeyOf, recordedKeysOf, recordedPlaneOf } from "../../resource/database-access.ts";
import { isIdentityProven } from "../../resource/identity.ts";
import { isBeingDeleted } from "../../resource/stored-object.ts";
import type { AccessContext, BoundEndpoint, FindEndpoint } from "./access-types.ts";

export function endpointIndex(key: ResourceKey): string {
  return `endpoint ${keyText(key)}`;
}

/** `project`: the key of the project; `noProject` finds the resources without records. */
export function recordIndex(project: string): string {
  return `records ${project}`;
}

export function indexesOf(resource: DatabaseAccess): readonly string[] {
  const endpoint = endpointKeyOf(resource);
  const recorded = recordedKeysOf(resource);
  const projects = recorded.length === 0 ? [noProject] : recorded;
  return [
    ...(endpoint === undefined ? [] : [endpointIndex(endpoint)]),
    ...projects.map(recordIndex),
    planeIndex(recordedPlaneOf(resource)),
  ];
}

export function endpointOf(resource: DatabaseAccess, find: FindEndpoint): ComputeEndpoint | undefined {
  const key = endpointKeyOf(resource);
  return key && find(key);
}

/** The project of the ComputeEndpoint, else of the newest record. In a deletion the records come first. */
export function accessKeyOf(resource: DatabaseAccess, find: FindEndpoint): string {
  const recorded = recordedKeysOf(resource).at(-1);
  const endpoint = endpointOf(resource, find);
  const ofEndpoint = endpoint && workKeyOf(endpoint);
  return (isBeingDeleted(resource) ? (recorded ?? ofEndpoint) : (ofEndpoint ?? recorded)) ?? noProject;
}

export function wantedBranchOf(resource: DatabaseAccess, find: FindEndpoint): string | undefined {
  const { spec, status } = endpointOf(resource, find) ?? {};
  return spec?.kind === "Valid" ? (spec.spec.branchId ?? status?.branchId) : undefined;
}

export interface NamedEndpoint {
  readonly kind: "Named";
  readonly projectId: string;
  readonly endpointId: string;
  readonly place: BranchPlace;
}

type Around = Pick<AccessContext, "findEndpoint" | "findBranch" | "identity">;

/** The branch that the ComputeEndpoint names. */
export function placeFor({ findEndpoint, findBranch, identity }: Around, resource: DatabaseAccess): BranchPlace {
  const endpoint = endpointOf(resource, findEndpoint);
  return endpoint === undefined ? byId : placeOf(endpoint, findBranch, identity);
}

export function referenceOf(around: Around, resource: DatabaseAccess): NamedEndpoint | CommonPlan {
  const { findEndpoint, identity } = around;
  const endpoint = endpointOf(resource, findEndpoint);
  const name = endpointKeyOf(resource)?.name ?? "";
  if (endpoint === undefined || isBeingDeleted(endpoint)) {
    const message = `There is no ComputeEndpoint ${name} in this namespace. The operator continues when it exists.`;
    return wait("EndpointNotFound", message);
  }
  const { ownership } = endpoint.status;
  if (ownership === undefined) {
    return notThereYet(resource);
  }
  if (!isIdentityProven(endpoint, identity)) {
    const message = `The ownership record of ComputeEndpoint ${name} was made for another resource, cluster or control plane. So the operator reads and changes nothing for this resource. Look at the condition Stalled of that ComputeEndpoint.`;
    return stall("IdentityUnproven", message);
  }
  const place = placeFor(around, resource);
  if ("name" in place) {
    const message = `DatabaseBranch ${place.name} of the ComputeEndpoint is not ready. The operator continues when it is.`;
    return wait("WaitingForBranch", message);
  }
  return { kind: "Named", projectId: ownership.projectId, endpointId: ownership.endpointId, place };
}

export function notThereYet(resource: DatabaseAccess, waitMs?: number): CommonPlan {
  const name = endpointKeyOf(resource)?.name ?? "";
  const message = `ComputeEndpoint ${name} has no endpoint yet. The operator continues when it has one.`;
  return wait("WaitingForEndpoint", message, waitMs);
}

/** The endpoint that the resource names, with its replicas; `undefined`: the snapshot does not show it on its branch. */
export function boundTo(
  context: AccessContext,
  resource: DatabaseAccess,
  snapshot: ProjectSnapshot | undefined,
): BoundEndpoint | undefined {
  const { endpointsOf, projectId, identity } = context;
  const reference = referenceOf(context, resource);
  const endpoint = reference.kind === "Named" ? snapshot?.endpoints.get(reference.endpointId) : undefined;
  if (reference.kind !== "Named" || endpoint === undefined) {
    return undefined;
  }
  const { place } = reference;
  if (place.kind === "Proven" && place.branchId !== endpoint.branchId) {
    return undefined;
  }
  const { branchId, host, id: endpointId } = endpoint;
  const isOfResource = (each: ComputeEndpoint) =>
    each.key.namespace === resource.key.namespace && isIdentityProven(each, identity);
  const replicas = isWithReplicas(resource) ? endpointsOf(projectId).filter(isOfResource) : [];
  const readHosts = replicas
    .flatMap(({ status }) => snapshot?.endpoints.get(status.ownership?.endpointId ?? "") ?? [])
    .filter((replica) => replica.branchId === branchId && replica.type === "ReadOnly" && !replica.disabled)
    .map((replica) => replica.host);
  const hosts = { host, pooledHost: pooledHostOf(endpoint), readHosts: [...new Set(readHosts)].sort() };
  return { projectId, branchId, endpointId, hosts, ...(place.kind === "Proven" && { copy: place.copy }) };
}

function isWithReplicas({ spec }: DatabaseAccess): boolean {
  return spec.kind === "Valid" && spec.spec.secret?.includeReplicas === true;
}

/** Describes what clients notice of the endpoint and its replicas. If it changes, the Secret may have to change. */
export function endpointMark(around: Around, resource: DatabaseAccess, siblings: readonly ComputeEndpoint[]): string {
  const endpoint = endpointOf(resource, around.findEndpoint);
  const replicas = isWithReplicas(resource)
    ? siblings.filter(({ key }) => key.namespace === resource.key.namespace)
    : [];
  return JSON.stringify([endpoint && markOf(endpoint), placeFor(around, resource), replicas.map(markOf).sort()]);
}

function markOf({ uid, deletionTimestamp, status, spec }: ComputeEndpoint): string {
  const { branchId, disabled } = spec.kind === "Valid" ? spec.spec : {};
  const { ownership, host, state } = status;
  return JSON.stringify([uid, deletionTimestamp, ownership, host, state === undefined, branchId, disabled]);
}
