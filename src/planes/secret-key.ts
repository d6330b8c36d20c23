/** Reads the API key, and the certificate authority of the databases, of one control plane from Secrets. */
import { isApiKey } from "../control-plane/key-source.ts";
import { allowSecretsCommand, KubernetesError, type ResourceKey, type SecretStore } from "../domain/resource-store.ts";
import { withoutLineBreak } from "../domain/without-line-break.ts";
import type { PlaneReason } from "../resource/conditions.ts";
import type { KeyRead, ReadKey } from "./api-key.ts";

export interface SecretEntry {
  readonly secret: ResourceKey;
  readonly key: string;
}

export type SecretReads = Pick<SecretStore, "read" | "account">;

/** A Secret is read again this many milliseconds after the last read. */
export const secretAgainMs = 60_000;

/** @param authorityEntry `undefined`: no Secret holds the certificate authority */
export function keyInSecrets(secrets: SecretReads, keyEntry: SecretEntry, authorityEntry?: SecretEntry): ReadKey {
  const refused = (reason: keyof typeof remedies, entry: SecretEntry): KeyRead => ({
    ...{ kind: "Refused", reason, message: remedies[reason](entry, secrets.account) },
  });
  const textIn = async (entry: SecretEntry): Promise<KeyRead> => {
    try {
      const secret = await secrets.read(entry.secret);
      const key = secret && Object.hasOwn(secret.data, entry.key) ? secret.data[entry.key] : undefined;
      const missing = secret === undefined ? "SecretNotFound" : "SecretKeyNotFound";
      return key === undefined ? refused(missing, entry) : { kind: "Read", key };
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      const { reason, message } = error;
      return reason === "Forbidden" ? refused("SecretForbidden", entry) : { kind: "Unanswered", message };
    }
  };
  return async () => {
    const found = await textIn(keyEntry);
    const key = found.kind === "Read" ? withoutLineBreak(found.key) : "";
    if (found.kind !== "Read" || !isApiKey(key)) {
      return found.kind === "Read" ? refused("SecretInvalid", keyEntry) : found;
    }
    const authority = authorityEntry && (await textIn(authorityEntry));
    if (authorityEntry === undefined || authority?.kind !== "Read") {
      return authority ?? { kind: "Read", key };
    }
    const isPem = authority.key.includes("-----BEGIN CERTIFICATE-----");
    return isPem
      ? { kind: "Read", key, authority: authority.key }
      : refused("CertificateAuthorityMissing", authorityEntry);
  };
}

function secretName({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

const again = "the operator checks again within a minute.";

const remedies = {
  SecretForbidden: ({ secret }, account) =>
    `The operator may not read ${secretName(secret)}. Allow it with: ${allowSecretsCommand(secret.namespace, account)}`,
  SecretNotFound: ({ secret, key }) => `There is no ${secretName(secret)}. Create it with the key ${key}; ${again}`,
  SecretKeyNotFound: ({ secret, key }) =>
    `${secretName(secret)} has no key ${key}. Add the key, or correct spec; ${again}`,
  SecretInvalid: ({ secret, key }) =>
    `The value of ${key} in ${secretName(secret)} is empty or holds characters that an API key cannot have. Correct the value; ${again}`,
  CertificateAuthorityMissing: ({ secret, key }) =>
    `The value of ${key} in ${secretName(secret)} is not a PEM certificate. Correct the value; ${again}`,
} satisfies Partial<Record<PlaneReason, (entry: SecretEntry, account: string) => string>>;
