/** The ports to the Secrets of the API server. */
import type { ResourceKey } from "./resource-store.ts";

/** The content of a Secret: a text for each key. */
export type SecretData = Readonly<Record<string, string>>;

/** A Secret as the API server stored it. */
export interface StoredSecret {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly type: string;
  /** The uids in all owner references of the Secret. */
  readonly ownerUids: readonly string[];
  readonly data: SecretData;
  readonly finalizers: readonly string[];
  /** Whether its deletion has been requested. The Secret stays while it has finalizers. */
  readonly isBeingDeleted: boolean;
}

/** The resource that owns a new Secret. When it is deleted, the garbage collector deletes the Secret. */
export interface SecretOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Reads and writes single Secrets by name; there is no list and no watch.
 *
 * Guarantees: every write names uid and resourceVersion of the Secret that was read, and checks the leader fence first.
 * Errors: throws `KubernetesError`; reason `Forbidden` without a RoleBinding in the namespace, `Conflict` if the Secret
 * changed since it was read. No message holds a part of the content.
 */
export interface SecretStore {
  /** The service account of the operator, as `namespace:name`. A RoleBinding gives it the rights in a namespace. */
  readonly account: string;
  /** Reads the Secret from the API server; `undefined` if there is none. */
  read(key: ResourceKey): Promise<StoredSecret | undefined>;
  create(
    key: ResourceKey,
    secret: { readonly type: string; readonly owner: SecretOwner; readonly data: SecretData },
  ): Promise<StoredSecret>;
  /** Replaces the whole content of the Secret in one write. */
  replaceData(before: StoredSecret, data: SecretData): Promise<StoredSecret>;
  delete(before: StoredSecret): Promise<void>;
}

/**
 * Secrets that other people write. The operator reads them, and prevents their deletion by finalizers. Errors as in
 * `SecretStore`.
 */
export interface HeldSecrets extends Pick<SecretStore, "read" | "account"> {
  /** Replaces the finalizers of a Secret. */
  setFinalizers(before: StoredSecret, finalizers: readonly string[]): Promise<void>;
}

/** Returns the command with which an administrator gives the operator the rights on Secrets of a namespace. */
export function allowSecretsCommand(namespace: string, account: string): string {
  return `kubectl create rolebinding endpoint-operator-secrets --namespace=${namespace} --clusterrole=endpoint-operator-secrets --serviceaccount=${account}`;
}

/** The causes for which the operator writes the Secret of an application. */
export const secretWriteCauses = ["Created", "ConnectionChanged", "Restored", "Rotated"] as const;
export type SecretWriteCause = (typeof secretWriteCauses)[number];

/** Counts what happens to the Secrets of DatabaseAccesses. Its methods never throw. */
export interface SecretObserver {
  secretWritten(cause: SecretWriteCause): void;
  passwordReset(): void;
}
