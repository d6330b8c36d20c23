/** Reads the identity of the cluster, and the service account of the operator. */
import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "./connection.ts";
import type { CredentialSource } from "./credentials.ts";
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

/**
 * Returns the operator's service account as `namespace:name`, for the commands in conditions. The token of a pod names
 * it. Other credentials do not; then it is the shipped name in the operator's own namespace. Never throws.
 */
export async function readOwnAccount(credentials: CredentialSource): Promise<string> {
  const shipped = `${credentials.namespace}:endpoint-operator`;
  try {
    const { headers } = await credentials.current();
    const [, payload = ""] = (headers.authorization ?? "").split(".");
    const { sub } = JSON.parse(Buffer.from(payload, "base64url").toString()) as { readonly sub?: unknown };
    return /^system:serviceaccount:([a-z0-9.-]+:[a-z0-9.-]+)$/.exec(String(sub))?.[1] ?? shipped;
  } catch {
    return shipped;
  }
}
