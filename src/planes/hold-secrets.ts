/** Prevents the deletion of an API key's Secret while resources need the key, by a finalizer on the Secret. */
import { KubernetesError, keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { HeldSecrets, StoredSecret } from "../domain/secret-store.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import { group } from "../resource/names.ts";
import * as messages from "./messages.ts";

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
