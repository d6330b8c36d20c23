/**
 * The Secrets of a control plane: reads its API key and its certificate authority, and protects its Secrets from
 * deletion.
 */
import { isApiKey } from "../control-plane/key-source.ts";
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { HeldSecrets, SecretStore, StoredSecret } from "../domain/secret-store.ts";
import type { PlaneReason } from "../resource/conditions.ts";
import { type PlaneResource, secretPlace } from "../resource/control-plane-resource.ts";
import type { ControlPlaneSpec, SecretRef } from "../resource/control-plane-schema.ts";
import { group } from "../resource/names.ts";
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

/** A value of a Secret is missing or cannot be used. The message says why. */
class MissingValue extends Error {
  readonly reason: PlaneReason;

  constructor(reason: PlaneReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Reads the Secrets that a control plane names. Never throws. */
export async function readPlaneSecrets(
  secrets: Pick<SecretStore, "read" | "account">,
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

async function readAuthority(secrets: Pick<SecretStore, "read" | "account">, resource: PlaneResource, ref: SecretRef) {
  const { text, secret } = await readValue(secrets, secretPlace(resource, ref), ref);
  if (!text.includes("-----BEGIN CERTIFICATE-----")) {
    throw new MissingValue("CertificateAuthorityMissing", messages.authorityInvalid(secret.key, ref.key));
  }
  return text;
}

/** Reads one value of a Secret. @throws MissingValue, and KubernetesError when the API server gives no answer */
async function readValue(secrets: Pick<SecretStore, "read" | "account">, place: ResourceKey, { key }: SecretRef) {
  let secret: StoredSecret | undefined;
  try {
    secret = await secrets.read(place);
  } catch (error) {
    if (error instanceof KubernetesError && error.reason === "Forbidden") {
      throw new MissingValue("SecretForbidden", messages.secretForbidden(place, secrets.account));
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

/** Returns the finalizer. It names the control plane, because several control planes may share a Secret. */
export function keyFinalizer({ uid }: Pick<PlaneResource, "uid">): string {
  return `${group}/key-of-${uid}`;
}

/** The Secrets that carry the finalizer now. */
export interface Held {
  readonly secrets: readonly ResourceKey[];
  /** Why the finalizer of a Secret could not be removed; `undefined`: there is no problem. */
  readonly problem: string | undefined;
}

/** Whether two keys name the same object. */
export function isSameKey(a: ResourceKey, b: ResourceKey): boolean {
  return keyText(a) === keyText(b);
}

/** Whether the finalizer must be added. The API server refuses new finalizers on a Secret that is being deleted. */
export function needsHold(resource: PlaneResource, secret: StoredSecret): boolean {
  return !secret.isBeingDeleted && !secret.finalizers.includes(keyFinalizer(resource));
}

/**
 * Removes the finalizer from Secrets that no longer have to be kept.
 * @param released Secrets that may carry the finalizer
 * @returns Secrets that still carry it, because the API server refused the change. @throws KubernetesError `Conflict`
 */
export async function releaseSecrets(
  secrets: HeldSecrets,
  resource: PlaneResource,
  released: readonly ResourceKey[],
): Promise<Held> {
  const kept: ResourceKey[] = [];
  let problem: string | undefined;
  for (const key of released) {
    try {
      const secret = await secrets.read(key);
      const finalizer = keyFinalizer(resource);
      if (secret?.finalizers.includes(finalizer)) {
        const finalizers = secret.finalizers.filter((name) => name !== finalizer);
        await secrets.setFinalizers(secret, finalizers);
      }
    } catch (error) {
      if (!(error instanceof KubernetesError) || error.reason === "Conflict") {
        throw error;
      }
      if (error.reason !== "NotFound") {
        kept.push(key);
        problem = messages.cannotRelease(key, error.reason);
      }
    }
  }
  return { secrets: kept, problem };
}
