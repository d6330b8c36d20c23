/** Reads the identity of the cluster, and the operator's own namespace. */
import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "./connection.ts";
import { namespacePath } from "./paths.ts";

/**
 * Reads the identity of the cluster: the uid of its namespace `kube-system`.
 * @throws KubernetesError; reason `Forbidden` without the right `get` on this namespace.
 */
export async function readClusterId(connection: KubernetesConnection): Promise<string> {
  const what = "read namespace kube-system";
  const path = namespacePath("kube-system");
  const answer = await connection.request({ what, method: "GET", path, timeoutMs: 8_000 });
  const uid = (answer as { readonly metadata?: { readonly uid?: unknown } } | null)?.metadata?.uid;
  if (typeof uid !== "string" || uid === "") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer has no uid`);
  }
  return uid;
}

/**
 * Returns the operator's own namespace, or the namespace of the kubeconfig's context; `default` if there is neither.
 */
export function ownNamespace(connection: KubernetesConnection): string {
  return connection.namespace ?? "default";
}
