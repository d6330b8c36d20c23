/** Reads what a control plane keeps in Secrets: its API key, and the certificate authority of its databases. */
import { isApiKey } from "../control-plane/key-source.ts";
import { KubernetesError, type ResourceKey } from "../domain/resource-store.ts";
import type { SecretStore, StoredSecret } from "../domain/secret-store.ts";
import type { PlaneReason } from "../resource/conditions.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";
import * as messages from "./messages.ts";

/** The result of one attempt to read the Secrets of a control plane. */
export type SecretsReading =
  | {
      readonly kind: "Read";
      readonly key: string;
      readonly authority: string | undefined;
      readonly secret: StoredSecret;
    }
  /** A person must act. `message` is for people who may see the control plane. */
  | { readonly kind: "Refused"; readonly reason: PlaneReason; readonly message: string }
  /** The API server gave no answer. The earlier result still counts. */
  | { readonly kind: "Unanswered"; readonly message: string };

/** One value does not exist in its Secret. The message says why. */
class MissingValue extends Error {
  readonly reason: PlaneReason;

  constructor(reason: PlaneReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Reads the Secrets that a control plane names. Never throws. */
export async function readPlaneSecrets(
  secrets: Pick<SecretStore, "read">,
  resource: PlaneResource,
  spec: Pick<ControlPlaneSpec, "apiKeySecretRef" | "connection">,
): Promise<SecretsReading> {
  const { apiKeySecretRef, connection } = spec;
  try {
    const { text, secret } = await readValue(secrets, secretPlace(resource, apiKeySecretRef), apiKeySecretRef);
    const key = text.trim();
    if (!isApiKey(key)) {
      throw new MissingValue("SecretInvalid", messages.secretInvalid(secret.key, apiKeySecretRef.key));
    }
    const { caSecretRef } = connection ?? {};
    const authority = caSecretRef && (await readAuthority(secrets, resource, caSecretRef));
    return { kind: "Read", key, authority, secret };
  } catch (error) {
    if (error instanceof MissingValue) {
      return { kind: "Refused", reason: error.reason, message: error.message };
    }
    if (error instanceof KubernetesError) {
      return { kind: "Unanswered", message: error.message };
    }
    throw error;
  }
}

async function readAuthority(secrets: Pick<SecretStore, "read">, resource: PlaneResource, ref: SecretRef) {
  const { text, secret } = await readValue(secrets, secretPlace(resource, ref), ref);
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new MissingValue("CertificateAuthorityMissing", messages.authorityInvalid(secret.key, ref.key));
  }
  return text;
}

/** Reads one value of a Secret. @throws MissingValue, and KubernetesError when the API server gives no answer */
async function readValue(secrets: Pick<SecretStore, "read">, place: ResourceKey, { key }: SecretRef) {
  let secret: StoredSecret | undefined;
  try {
    secret = await secrets.read(place);
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") {
      throw new MissingValue("SecretForbidden", messages.secretForbidden(place));
    }
    throw error;
  }
  if (secret === undefined) {
    throw new MissingValue("SecretNotFound", messages.secretNotFound(place, key));
  }
  const text = Object.hasOwn(secret.data, key) ? secret.data[key] : undefined;
  if (text === undefined) {
    throw new MissingValue("SecretKeyNotFound", messages.secretKeyNotFound(place, key));
  }
  return { text, secret };
}
