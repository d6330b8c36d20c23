/** The paths of objects in the API server. */
import type { ResourceKey } from "../../domain/resource-store.ts";
import { group, plural, version } from "../../resource/names.ts";

/**
 * Returns the path of the custom resources of one namespace, or of all namespaces. @param plural the plural name of
 * their kind
 */
export function resourcesPath(plural: string, namespace: string | undefined): string {
  const inNamespace = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${group}/${version}${inNamespace}/${plural}`;
}

/** Returns the path of one custom resource. @param plural the plural name of its kind */
export function resourcePath(plural: string, key: ResourceKey): string {
  // An object of the cluster has no namespace.
  return `${resourcesPath(plural, key.namespace || undefined)}/${encodeURIComponent(key.name)}`;
}

/** Returns the path of the ComputeEndpoints of one namespace, or of all namespaces. */
export function computeEndpointsPath(namespace: string | undefined): string {
  return resourcesPath(plural, namespace);
}

/** Returns the path of one ComputeEndpoint. */
export function computeEndpointPath(key: ResourceKey): string {
  return resourcePath(plural, key);
}

/** Returns the path of the events of one namespace, or of one event if `name` is given. */
export function eventsPath(namespace: string, name?: string): string {
  const inNamespace = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  return name === undefined ? inNamespace : `${inNamespace}/${encodeURIComponent(name)}`;
}

/** The path of all namespaces. */
export const namespacesPath = "/api/v1/namespaces";

/** Returns the path of one namespace. */
export function namespacePath(name: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(name)}`;
}

/** Returns the path of the Secrets of one namespace. */
export function secretsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
}

/** Returns the path of one Secret. */
export function secretPath({ namespace, name }: ResourceKey): string {
  return `${secretsPath(namespace)}/${encodeURIComponent(name)}`;
}

/** Returns the path of the Leases of one namespace. */
export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
}

/** Returns the path of one Lease. */
export function leasePath({ namespace, name }: ResourceKey): string {
  return `${leasesPath(namespace)}/${encodeURIComponent(name)}`;
}
