/** Paths, metadata, reads and writes of API server objects, for all kinds of objects. */
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import { KubernetesError, type ResourceKey, type StoredIdentity } from "../../domain/resource-store.ts";
import { group, plural, version } from "../../resource/names.ts";
import { undefinedIfNotFound } from "./answer-error.ts";
import type { KubernetesCall, KubernetesConnection } from "./connection.ts";

/**
 * Returns the path of the custom resources of one namespace.
 * @param plural the plural name of their kind
 * @param namespace `undefined`: all namespaces
 */
export function resourcesPath(plural: string, namespace: string | undefined): string {
  const inNamespace = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/apis/${group}/${version}${inNamespace}/${plural}`;
}

/** Returns the path of one custom resource. @param plural the plural name of its kind */
export function resourcePath(plural: string, key: ResourceKey): string {
  // A cluster-scoped object has no namespace.
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

/** The time limit of one read or write of an object, in milliseconds. */
const callTimeoutMs = 8_000;

/** Reads one object. @returns `undefined` if the API server answered that it does not exist. @throws KubernetesError */
export function readObject(
  connection: KubernetesConnection,
  object: string,
  path: string,
  timeoutMs: number = callTimeoutMs,
): Promise<unknown> {
  return undefinedIfNotFound(connection.request({ what: `read ${object}`, method: "GET", path, timeoutMs }));
}

/**
 * Writes one object, if the leader fence stays open for the whole time limit. @throws KubernetesError, LeaderFenceError
 */
export async function writeObject(
  { connection, fence }: { readonly connection: KubernetesConnection; readonly fence: LeaderFence },
  call: Omit<KubernetesCall, "timeoutMs" | "fence">,
): Promise<unknown> {
  if (!fence.mayStartEffect(callTimeoutMs)) {
    throw new LeaderFenceError();
  }
  return await connection.request({ ...call, timeoutMs: callTimeoutMs, fence });
}

/**
 * The query of every write. It sets the operator's name in `metadata.managedFields`. The operator writes only fields of
 * the schema, so the API server need not search for unknown fields.
 */
export const writeQuery = { fieldManager: "endpoint-operator", fieldValidation: "Ignore" } as const;

/**
 * Returns method, content type and body of a JSON merge patch.
 * @param of the version that the patch names. The API server refuses the patch if the stored object has another
 *   version. `undefined`: the patch applies to every version.
 */
export function mergePatch(
  changes: { readonly metadata?: object; readonly [member: string]: unknown },
  of?: Pick<StoredIdentity, "uid" | "resourceVersion">,
) {
  const named = of && { metadata: { ...changes.metadata, uid: of.uid, resourceVersion: of.resourceVersion } };
  return { method: "PATCH", contentType: "application/merge-patch+json", body: { ...changes, ...named } } as const;
}

/**
 * Reads the identity of the cluster: the uid of its namespace `kube-system`.
 * @throws KubernetesError; reason `Forbidden` without the right `get` on this namespace.
 */
export async function readClusterId(connection: KubernetesConnection): Promise<string> {
  const what = "read namespace kube-system";
  const call = { what, method: "GET", path: namespacePath("kube-system"), timeoutMs: callTimeoutMs } as const;
  const { uid } = metadataOf(await connection.request(call));
  if (typeof uid !== "string" || uid === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer has no uid`);
  }
  return uid;
}
