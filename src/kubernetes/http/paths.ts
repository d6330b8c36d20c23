/** What all objects of the API server have in common: their paths, their metadata, and the cluster that they are in. */
import { KubernetesError, type ResourceKey } from "../../domain/resource-store.ts";
import { group, plural, version } from "../../resource/names.ts";
import type { KubernetesConnection } from "./connection.ts";

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

/** Returns the metadata of an object as the API server sent it; empty if there is none. Nothing in it is checked. */
export function metadataOf(stored: unknown): Readonly<Record<string, unknown>> {
  const metadata = (stored as { readonly metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
}

/** Formats a time as RFC 3339 with microseconds, as Leases and events require. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}

/**
 * Reads the identity of the cluster: the uid of its namespace `kube-system`.
 * @throws KubernetesError; reason `Forbidden` without the right `get` on this namespace.
 */
export async function readClusterId(connection: KubernetesConnection): Promise<string> {
  const what = "read namespace kube-system";
  const path = namespacePath("kube-system");
  const { uid } = metadataOf(await connection.request({ what, method: "GET", path, timeoutMs: 8_000 }));
  if (typeof uid !== "string" || uid === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer has no uid`);
  }
  return uid;
}
