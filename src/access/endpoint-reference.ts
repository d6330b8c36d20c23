/** Finds the ComputeEndpoint and the project of a DatabaseAccess. */
import { type Identity, isIdentityProven } from "../decide/identity.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, noProject, workKeyOf } from "../resource/compute-endpoint.ts";
import { settingsPlane } from "../resource/control-plane-resource.ts";
import { type DatabaseAccess, endpointKeyOf, recordedKeysOf, recordedPlaneOf } from "../resource/database-access.ts";
import { type AccessSummary, stalls, waits } from "./access-summary.ts";
import type { ConnectionHosts } from "./binding.ts";

/** Finds a ComputeEndpoint in the cache by its key. */
export type FindEndpoint = (key: ResourceKey) => ComputeEndpoint | undefined;

/** The endpoint and its branch, as the project's snapshot shows them. */
export interface BoundEndpoint {
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string;
  readonly hosts: ConnectionHosts;
}

/** Returns the index key under which the cache finds the resources that name a ComputeEndpoint. */
export function endpointIndex(key: ResourceKey): string {
  return `endpoint ${keyText(key)}`;
}

/**
 * Returns the index key under which the cache finds the resources that have records in a project.
 * @param project the key of the project, not its id alone; `noProject`: finds the resources without records
 */
export function recordIndex(project: string): string {
  return `records ${project}`;
}

/** Returns the index key under which the cache finds the resources that have records in a control plane. */
export function planeIndex(planeId: string): string {
  return `plane ${planeId}`;
}

/** Returns all index keys under which the cache finds a resource. */
export function indexesOf(resource: DatabaseAccess): readonly string[] {
  const endpoint = endpointKeyOf(resource);
  const recorded = recordedKeysOf(resource);
  const projects = recorded.length === 0 ? [noProject] : recorded;
  const planeId = recordedPlaneOf(resource);
  return [
    ...(endpoint === undefined ? [] : [endpointIndex(endpoint)]),
    ...projects.map(recordIndex),
    ...(planeId === settingsPlane ? [] : [planeIndex(planeId)]),
  ];
}

function endpointOf(resource: DatabaseAccess, find: FindEndpoint): ComputeEndpoint | undefined {
  const key = endpointKeyOf(resource);
  return key && find(key);
}

/**
 * Returns the key of the project that reconciles the resource: the project of its ComputeEndpoint, else that of the
 * resource's records. If the DatabaseAccess is being deleted, its records come first. `noProject`: it has neither.
 */
export function accessKeyOf(resource: DatabaseAccess, find: FindEndpoint): string {
  const [recorded] = recordedKeysOf(resource);
  const endpoint = endpointOf(resource, find);
  const ofEndpoint = endpoint && workKeyOf(endpoint);
  return (isBeingDeleted(resource) ? (recorded ?? ofEndpoint) : (ofEndpoint ?? recorded)) ?? noProject;
}

/** Returns the branch that the spec of the resource's ComputeEndpoint names; `undefined`: no valid spec names one. */
export function wantedBranchOf(resource: DatabaseAccess, find: FindEndpoint): string | undefined {
  const spec = endpointOf(resource, find)?.spec;
  return spec?.kind === "Valid" ? spec.spec.branchId : undefined;
}

/** The endpoint that a ComputeEndpoint owns. */
export interface NamedEndpoint {
  readonly kind: "Named";
  readonly projectId: string;
  readonly endpointId: string;
}

/**
 * Returns the endpoint that the resource's ComputeEndpoint owns in the control plane of this reconcile, or the summary
 * that says why there is none.
 */
export function referenceOf(
  resource: DatabaseAccess,
  find: FindEndpoint,
  identity: Identity,
): NamedEndpoint | AccessSummary {
  const endpoint = endpointOf(resource, find);
  const name = endpointKeyOf(resource)?.name ?? "";
  if (endpoint === undefined || isBeingDeleted(endpoint)) {
    return waits.endpointNotFound(name);
  }
  const { ownership } = endpoint.status;
  if (ownership === undefined) {
    return waits.endpoint(name);
  }
  return isIdentityProven(endpoint, identity)
    ? { kind: "Named", projectId: ownership.projectId, endpointId: ownership.endpointId }
    : stalls.endpointUnproven(name);
}

/**
 * Returns the endpoint that the reference names, its branch, its host names, and those of the branch's replicas.
 * `undefined`: the snapshot does not show the endpoint.
 */
export function boundEndpoint(
  { projectId, endpointId }: NamedEndpoint,
  snapshot: ProjectSnapshot,
  replicas: readonly ComputeEndpoint[],
): BoundEndpoint | undefined {
  const endpoint = snapshot.endpoints.get(endpointId) ?? snapshot.readsById.get(endpointId)?.endpoint;
  if (endpoint === undefined) {
    return undefined;
  }
  const { branchId, host } = endpoint;
  const readHosts = replicas
    .flatMap(({ status }) => snapshot.endpoints.get(status.ownership?.endpointId ?? "") ?? [])
    .filter((replica) => replica.branchId === branchId && replica.type === "ReadOnly" && !replica.disabled)
    .map((replica) => replica.host);
  const pooledHost = host.replace(endpointId, `${endpointId}-pooler`);
  return { projectId, branchId, endpointId, hosts: { host, pooledHost, readHosts: [...new Set(readHosts)].sort() } };
}

/**
 * Returns a text that describes what clients notice of the ComputeEndpoint and of its replicas in the namespace. If the
 * text changes, the Secret may have to change.
 */
export function endpointMark(
  resource: DatabaseAccess,
  find: FindEndpoint,
  siblings: readonly ComputeEndpoint[],
): string {
  const endpoint = endpointOf(resource, find);
  const isWithReplicas = resource.spec.kind === "Valid" && resource.spec.spec.secret?.includeReplicas === true;
  const replicas = isWithReplicas ? siblings.filter(({ key }) => key.namespace === resource.key.namespace) : [];
  return JSON.stringify([endpoint && markOf(endpoint), replicas.map(markOf).sort()]);
}

function markOf(endpoint: ComputeEndpoint): string {
  const { status, uid, spec } = endpoint;
  const { branchId, disabled } = spec.kind === "Valid" ? spec.spec : { branchId: "", disabled: undefined };
  const { endpointId, serviceUrl } = status.ownership ?? {};
  const { host, state } = status;
  return JSON.stringify([
    uid,
    isBeingDeleted(endpoint),
    endpointId,
    serviceUrl,
    host,
    state === undefined,
    branchId,
    disabled,
  ]);
}
