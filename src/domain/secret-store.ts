import type { ResourceKey } from "./resource-store.ts";

/** The content of a Secret: texts by key. */
export type SecretData = Readonly<Record<string, string>>;

/** A Secret as the API server stored it. */
export interface StoredSecret {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly type: string;
  /** The uids of all owner references. */
  readonly ownerUids: readonly string[];
  readonly data: SecretData;
}

/** The resource to which a new Secret belongs; the garbage collector deletes the Secret with it. */
export interface SecretOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Single Secrets by name; there is no list and no watch.
 *
 * Guarantees: every write names uid and resourceVersion of the Secret that was read, and checks the leader fence first.
 * Errors: throws `KubernetesError`; reason `Forbidden` without a RoleBinding in the namespace, `Conflict` when the Secret
 * changed since it was read. No message holds a part of the content.
 */
export interface SecretStore {
  /** From the API server; `undefined` when there is none. */
  read(key: ResourceKey): Promise<StoredSecret | undefined>;
  create(
    key: ResourceKey,
    secret: { readonly type: string; readonly owner: SecretOwner; readonly data: SecretData },
  ): Promise<StoredSecret>;
  /** Makes the content exactly this, in one write. */
  replaceData(before: StoredSecret, data: SecretData): Promise<StoredSecret>;
  delete(before: StoredSecret): Promise<void>;
}
