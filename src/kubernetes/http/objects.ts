/** Paths, metadata, reads and writes of API server objects, for all kinds of objects. */
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import { KubernetesError, type StoredIdentity } from "../../domain/resource-store.ts";
import { group, version } from "../../resource/names.ts";
import { undefinedIfNotFound } from "./answer-error.ts";
import type { KubernetesCall, KubernetesConnection } from "./connection.ts";

const apisOfKubernetes: Readonly<Record<string, string>> = {
  namespaces: "/api/v1",
  secrets: "/api/v1",
  leases: "/apis/coordination.k8s.io/v1",
  events: "/apis/events.k8s.io/v1",
};

/** @param namespace `undefined` or "": all namespaces, or the kind has none. @param name `undefined`: all objects */
export function objectPath(plural: string, namespace: string | undefined, name?: string): string {
  const api = apisOfKubernetes[plural] ?? `/apis/${group}/${version}`;
  const inNamespace = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${api}${inNamespace}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}

/** Returns the metadata of an object as the API server sent it; empty if there is none. Nothing in it is checked. */
export function metadataOf(stored: unknown): Readonly<Record<string, unknown>> {
  const metadata = (stored as { readonly metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
}

/**
 * Whether `left` is known to be older than `right`. Two versions that are not both numbers have no known order.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions (comparable since 1.35)
 */
export function isOlder(left: string, right: string): boolean {
  return isNumber(left) && isNumber(right) && BigInt(left) < BigInt(right);
}

const isNumber = (text: string) => /^[0-9]+$/.test(text);

export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}

/** The time limit of one read or write of an object, in milliseconds. */
const callTimeoutMs = 8_000;

/** Reads one object. @returns `undefined` if the API server answered that it does not exist. @throws KubernetesError */
export function readObject(connection: KubernetesConnection, object: string, path: string): Promise<unknown> {
  const call = { what: `read ${object}`, method: "GET", path, timeoutMs: callTimeoutMs } as const;
  return undefinedIfNotFound(connection.request(call));
}

/** Sends nothing unless the fence stays open for the whole time limit. @throws KubernetesError, LeaderFenceError */
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

/** @param of the version to which alone the patch applies; `undefined`: it applies to every version */
export function mergePatch(
  changes: { readonly metadata?: object; readonly [member: string]: unknown },
  of?: Pick<StoredIdentity, "uid" | "resourceVersion">,
) {
  const named = of && { metadata: { ...changes.metadata, uid: of.uid, resourceVersion: of.resourceVersion } };
  return { method: "PATCH", contentType: "application/merge-patch+json", body: { ...changes, ...named } } as const;
}

/** The uid of `kube-system`. @throws KubernetesError; reason `Forbidden` without the right `get` on this namespace */
export async function readClusterId(connection: KubernetesConnection): Promise<string> {
  const path = objectPath("namespaces", "", "kube-system");
  const { uid } = metadataOf(await readObject(connection, "namespace kube-system", path));
  if (typeof uid !== "string" || uid === "") {
    throw new KubernetesError("UnreadableAnswer", "cannot read namespace kube-system: the answer has no uid");
  }
  return uid;
}
