import type { ProjectSnapshot } from "../domain/project-snapshot.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, noProject, workProjectOf } from "../resource/compute-endpoint.ts";
import { type DatabaseAccess, endpointKeyOf, recordedProjectsOf } from "../resource/database-access.ts";
import type { BoundEndpoint, EndpointReference } from "./access-observation.ts";

/** Finds a ComputeEndpoint of the cache by its name. */
export type FindEndpoint = (key: ResourceKey) => ComputeEndpoint | undefined;

/** The name under which the cache finds the resources that name a ComputeEndpoint. */
export function endpointIndex(key: ResourceKey): string {
  return `endpoint ${keyText(key)}`;
}

/** The name under which the cache finds the resources that have records in a project; `noProject`: no records at all. */
export function recordIndex(projectId: string): string {
  return `records ${projectId}`;
}

/** Every name under which the cache finds a resource. */
export function indexesOf(resource: DatabaseAccess): readonly string[] {
  const endpoint = endpointKeyOf(resource);
  const recorded = recordedProjectsOf(resource);
  const projects = recorded.length === 0 ? [noProject] : recorded;
  return [...(endpoint === undefined ? [] : [endpointIndex(endpoint)]), ...projects.map(recordIndex)];
}

/**
 * The one project whose reconcile works on the resource: that of its ComputeEndpoint; without one, or while it is being
 * deleted, that of its records.
 */
export function accessProjectOf(resource: DatabaseAccess, find: FindEndpoint): string {
  const [recorded] = recordedProjectsOf(resource);
  const key = endpointKeyOf(resource);
  const endpoint = key && find(key);
  const ofEndpoint = endpoint && workProjectOf(endpoint);
  return (resource.deletionTimestamp === undefined ? (ofEndpoint ?? recorded) : (recorded ?? ofEndpoint)) ?? noProject;
}

/** The ComputeEndpoint of a resource, as the cache shows it. */
export function referenceOf(resource: DatabaseAccess, find: FindEndpoint): EndpointReference {
  const key = endpointKeyOf(resource);
  const endpoint = key && find(key);
  if (endpoint === undefined || isBeingDeleted(endpoint)) {
    return { kind: "NotFound" };
  }
  const { ownership } = endpoint.status;
  return ownership === undefined
    ? { kind: "Waiting" }
    : { kind: "Named", projectId: ownership.projectId, endpointId: ownership.endpointId };
}

/** The endpoint as the snapshot shows it; `undefined`: it does not show it. */
export function boundEndpoint(
  reference: Extract<EndpointReference, { kind: "Named" }>,
  snapshot: ProjectSnapshot,
  replicas: readonly ComputeEndpoint[],
): BoundEndpoint | undefined {
  const { projectId, endpointId } = reference;
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

/** A text that changes when the ComputeEndpoint, or a replica of the namespace, changes for those that connect. */
export function endpointMark(
  resource: DatabaseAccess,
  find: FindEndpoint,
  siblings: readonly ComputeEndpoint[],
): string {
  const key = endpointKeyOf(resource);
  const endpoint = key && find(key);
  const isWithReplicas = resource.spec.kind === "Valid" && resource.spec.spec.secret?.includeReplicas === true;
  const replicas = isWithReplicas ? siblings.filter((sibling) => sibling.key.namespace === resource.key.namespace) : [];
  return JSON.stringify([endpoint && markOf(endpoint), replicas.map(markOf).sort()]);
}

function markOf(endpoint: ComputeEndpoint): string {
  const { status, uid, spec } = endpoint;
  const { branchId, disabled } = spec.kind === "Valid" ? spec.spec : { branchId: "", disabled: undefined };
  const parts = [
    uid,
    isBeingDeleted(endpoint),
    status.ownership?.endpointId,
    status.host,
    status.state === undefined,
    branchId,
    disabled,
  ];
  return JSON.stringify(parts);
}
