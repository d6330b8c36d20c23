/** Reads and writes Secrets. */
import type { LeaderFence } from "../../domain/leader-fence.ts";
import {
  type HeldSecrets,
  KubernetesError,
  type ResourceKey,
  type SecretData,
  type SecretStore,
  type StoredSecret,
} from "../../domain/resource-store.ts";
import { formsOf, withoutSecrets } from "../../domain/without-secrets.ts";
import { undefinedIfNotFound } from "../http/answer-error.ts";
import type { KubernetesCall, KubernetesConnection } from "../http/connection.ts";
import { mergePatch, metadataOf, objectPath, readObject, writeObject, writeQuery } from "../http/objects.ts";

interface SecretStoreOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** The service account of the operator, as `namespace:name`. */
  readonly account: string;
}

/**
 * Makes the store of Secrets, which reads and writes one Secret at a time. @see SecretStore for the guarantees of each
 * call
 */
export function createSecretStore(options: SecretStoreOptions): SecretStore & HeldSecrets {
  const { connection, account } = options;
  const parseWritten = async (what: string, key: ResourceKey, data: SecretData, call: Write) =>
    parseSecret(what, key, await withoutContent(data, writeObject(options, { what, query: writeQuery, ...call })));
  return {
    account,
    async read(key) {
      const found = await readObject(connection, nameOf(key), pathOf(key));
      return found === undefined ? undefined : parseSecret(`read ${nameOf(key)}`, key, found);
    },
    create(key, { type, owner, data }) {
      const metadata = { name: key.name, namespace: key.namespace, ownerReferences: [{ ...owner, controller: true }] };
      const body = { apiVersion: "v1", kind: "Secret", metadata, type, data: encoded(data) };
      const call = { method: "POST", path: objectPath("secrets", key.namespace), body } as const;
      return parseWritten(`create ${nameOf(key)}`, key, data, call);
    },
    replaceData(before, data) {
      const gone = Object.keys(before.data).filter((name) => !(name in data));
      const changes = { data: { ...encoded(data), ...Object.fromEntries(gone.map((name) => [name, null])) } };
      const call = { path: pathOf(before.key), ...mergePatch(changes, before) };
      return parseWritten(`patch ${nameOf(before.key)}`, before.key, data, call);
    },
    async setFinalizers(before, finalizers) {
      const what = `patch finalizers of ${nameOf(before.key)}`;
      const path = pathOf(before.key);
      const patch = mergePatch({ metadata: { finalizers } }, before);
      await writeObject(options, { what, path, query: writeQuery, ...patch });
    },
    async delete({ key, uid, resourceVersion }) {
      const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } };
      const call = { what: `delete ${nameOf(key)}`, method: "DELETE", path: pathOf(key), body } as const;
      await undefinedIfNotFound(writeObject(options, call));
    },
  };
}

/**
 * Removes the written password, and each written value that contains it, from the error of a write: an admission
 * webhook may quote the Secret that it refuses. The new error has no cause, because the cause may also hold these
 * values.
 */
async function withoutContent<Answer>(data: SecretData, written: Promise<Answer>): Promise<Answer> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const { password = "" } = data;
    const forms = password === "" ? [] : formsOf(password);
    const values = Object.values(data).filter((value) => forms.some((form) => value.includes(form)));
    const known = values.flatMap(formsOf).sort((a, b) => b.length - a.length);
    const message = withoutSecrets(error.message, [...known, ...forms]);
    throw new KubernetesError(error.reason, message, { retryAfterMs: error.retryAfterMs });
  }
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

function pathOf({ namespace, name }: ResourceKey): string {
  return objectPath("secrets", namespace, name);
}

function encoded(data: SecretData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

type Write = Pick<KubernetesCall, "method" | "path" | "body" | "contentType">;

interface WireSecret {
  readonly type?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Parses a Secret as the API server sent it. @throws KubernetesError when the answer is not a Secret */
export function parseSecret(what: string, key: ResourceKey, answer: unknown): StoredSecret {
  const { type, data } = (answer ?? {}) as WireSecret;
  const { uid, resourceVersion, ownerReferences, finalizers, deletionTimestamp } = metadataOf(answer);
  if (typeof uid !== "string" || typeof resourceVersion !== "string") {
    throw new KubernetesError("UnreadableAnswer", `cannot ${what}: the answer is not a Secret`);
  }
  const texts = Object.entries(data ?? {}).map(([name, text]) => [
    name,
    Buffer.from(String(text), "base64").toString(),
  ]);
  return {
    key,
    uid,
    resourceVersion,
    type: typeof type === "string" ? type : "",
    ownerUids: listOf(ownerReferences).map((owner) => String((owner as { readonly uid?: unknown }).uid)),
    data: Object.fromEntries(texts),
    finalizers: listOf(finalizers).map(String),
    isBeingDeleted: deletionTimestamp !== undefined,
  };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
