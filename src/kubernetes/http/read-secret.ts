import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "./connection.ts";
import { secretPath } from "./paths.ts";

/** The address of one value of a Secret. */
export interface SecretAddress {
  readonly namespace: string;
  readonly name: string;
  /** The key of the value inside the Secret. */
  readonly key: string;
}

/**
 * The time limit of one read, in milliseconds. A slow API server must not delay a call to the control plane for long.
 */
const timeoutMs = 2_000;

/**
 * Reads one value of a Secret.
 * @returns `undefined` if the Secret has no such value.
 * @throws KubernetesError when the Secret cannot be read, for instance without the right to it.
 */
export async function readSecret(
  connection: KubernetesConnection,
  address: SecretAddress,
): Promise<string | undefined> {
  const what = `read Secret ${address.namespace}/${address.name}`;
  return secretValueOf(
    await connection.request({ what, method: "GET", path: secretPath(address), timeoutMs }),
    address,
  );
}

/**
 * Returns one value of a Secret that the API server has sent.
 * @returns `undefined` if the Secret has no such value.
 * @throws KubernetesError when the value is not text.
 */
export function secretValueOf(secret: unknown, { namespace, name, key }: SecretAddress): string | undefined {
  const value = (secret as { readonly data?: Readonly<Record<string, unknown>> | null } | null)?.data?.[key];
  if (value === undefined) return undefined;
  if (typeof value !== "string") {
    throw new KubernetesError("UnreadableAnswer", `cannot read Secret ${namespace}/${name}: a value is not text`);
  }
  return Buffer.from(value, "base64").toString("utf8");
}
