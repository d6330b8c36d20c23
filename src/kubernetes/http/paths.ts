import type { ResourceKey } from "../../domain/resource-store.ts";
import { group, plural, version } from "../../resource/names.ts";

/** Custom resources of one namespace, or of all. @param plural of their kind */
export function resourcesPath(plural: string, namespace: string | undefined): string {
  const inNamespace = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${group}/${version}${inNamespace}/${plural}`;
}

/** One custom resource. @param plural of its kind */
export function resourcePath(plural: string, key: ResourceKey): string {
  return `${resourcesPath(plural, key.namespace)}/${encodeURIComponent(key.name)}`;
}

/** ComputeEndpoints of one namespace, or of all. */
export function computeEndpointsPath(namespace: string | undefined): string {
  return resourcesPath(plural, namespace);
}

/** One ComputeEndpoint. */
export function computeEndpointPath(key: ResourceKey): string {
  return resourcePath(plural, key);
}

/** Events of one namespace; of one event with a name. */
export function eventsPath(namespace: string, name?: string): string {
  const inNamespace = `/apis/events.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/events`;
  return name === undefined ? inNamespace : `${inNamespace}/${encodeURIComponent(name)}`;
}

/** All namespaces. */
export const namespacesPath = "/api/v1/namespaces";

/** One namespace. */
export function namespacePath(name: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(name)}`;
}

/** Secrets of one namespace. */
export function secretsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
}

/** One Secret. */
export function secretPath({ namespace, name }: ResourceKey): string {
  return `${secretsPath(namespace)}/${encodeURIComponent(name)}`;
}

/** Leases of one namespace. */
export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
}

/** One Lease. */
export function leasePath({ namespace, name }: ResourceKey): string {
  return `${leasesPath(namespace)}/${encodeURIComponent(name)}`;
}
