/** Reads the identity of the cluster. */
import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "./connection.ts";
import { namespacePath } from "./paths.ts";
import { metadataOf } from "./stored-object.ts";

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
