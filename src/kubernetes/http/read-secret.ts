import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "./connection.ts";

/** One value of a Secret. */
export interface SecretAddress {
  readonly namespace: string;
  readonly name: string;
  /** Of the value inside the Secret. */
  readonly key: string;
}

/** A stalled API server must not hold up a call to the control plane for long. */
const timeoutMs = 2_000;

/**
 * Reads one value of a Secret.
 *
 * @returns `undefined` when the Secret does not have it.
 * @throws KubernetesError when the Secret cannot be read, for instance without the right to it.
 */
export async function readSecret(
  connection: KubernetesConnection,
  address: SecretAddress,
): Promise<string | undefined> {
  const { namespace, name, key } = address;
  const what = `read Secret ${namespace}/${name}`;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
  const answer = await connection.request({ what, method: "GET", path, timeoutMs });
  const data = (answer as { readonly data?: Readonly<Record<string, unknown>> } | null)?.data ?? {};
  const value = data[key];
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw new KubernetesError("UnreadableAnswer", `cannot ${what}: a value is not text`);
  return Buffer.from(value, "base64").toString("utf8");
}
