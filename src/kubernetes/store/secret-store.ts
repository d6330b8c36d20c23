import type { LeaderFence } from "../../domain/leader-fence.ts";
import {
  KubernetesError,
  type ResourceKey,
  type SecretStore,
  type StoredSecret,
  type WantedSecret,
} from "../../domain/resource-store.ts";
import { formsOf, withoutSecrets } from "../../domain/without-secrets.ts";
import { undefinedIfNotFound } from "../http/answer-error.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { mergePatch, metadataOf, objectPath, readObject, writeObject, writeQuery } from "../http/objects.ts";

interface SecretStoreOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** The service account of the operator, as `namespace:name`. */
  readonly account: string;
}

export function createSecretStore(options: SecretStoreOptions): SecretStore {
  const { connection, account } = options;
  const write = (wanted: WantedSecret, before: StoredSecret | undefined, query: object) =>
    withoutContent(
      [wanted, before],
      writeObject(options, { ...callOf(wanted, before), query: { ...writeQuery, ...query } }),
    );
  return {
    account,
    async read(key) {
      const found = await readObject(connection, nameOf(key), pathOf(key));
      return found === undefined ? undefined : parseSecret(`read ${nameOf(key)}`, key, found);
    },
    async write(wanted, before) {
      return parseSecret(`write ${nameOf(wanted.key)}`, wanted.key, await write(wanted, before, {}));
    },
    async tryWrite(wanted, before) {
      await write(wanted, before, { dryRun: "All" });
    },
    async delete({ key, uid, resourceVersion }) {
      const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid, resourceVersion } };
      const call = { what: `delete ${nameOf(key)}`, method: "DELETE", path: pathOf(key), body } as const;
      await undefinedIfNotFound(writeObject(options, call));
    },
  };
}

function callOf({ key, type, owner, labels, annotations, data }: WantedSecret, before: StoredSecret | undefined) {
  if (before === undefined) {
    const ownerReferences = [{ ...owner, controller: true }];
    const metadata = { name: key.name, namespace: key.namespace, ownerReferences, labels, annotations };
    const body = { apiVersion: "v1", kind: "Secret", metadata, type, data: encoded(data) };
    return { what: `create ${nameOf(key)}`, method: "POST", path: objectPath("secrets", key.namespace), body } as const;
  }
  const gone = Object.keys(before.data).filter((name) => !(name in data));
  const changed = { ...encoded(data), ...Object.fromEntries(gone.map((name) => [name, null])) };
  const patch = mergePatch({ metadata: { labels, annotations }, data: changed }, before);
  return { what: `patch ${nameOf(key)}`, path: pathOf(key), ...patch };
}

/**
 * Removes the former and the new password, and each value that contains one, from the error of a write: an admission
 * webhook may quote the Secret that it refuses. The new error has no cause, because the cause may also hold these
 * values.
 */
async function withoutContent<Answer>(
  secrets: readonly (Pick<StoredSecret, "data"> | undefined)[],
  written: Promise<Answer>,
): Promise<Answer> {
  try {
    return await written;
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const passwords = secrets.flatMap((secret) => secret?.data.password || []);
    const forms = passwords.flatMap(formsOf);
    const values = secrets
      .flatMap((secret) => Object.values(secret?.data ?? {}))
      .filter((value) => forms.some((form) => value.includes(form)));
    const inBase64 = values.map((value) => Buffer.from(value).toString("base64"));
    const message = withoutSecrets(error.message, [...values.flatMap(formsOf), ...inBase64, ...forms]);
    const reason = error.reason === "WriteRefused" ? "SecretRefused" : error.reason;
    throw new KubernetesError(reason, message, { retryAfterMs: error.retryAfterMs });
  }
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

function pathOf({ namespace, name }: ResourceKey): string {
  return objectPath("secrets", namespace, name);
}

function encoded(data: WantedSecret["data"]): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

function parseSecret(what: string, key: ResourceKey, answer: unknown): StoredSecret {
  const { type, data } = (answer ?? {}) as { readonly type?: unknown; readonly data?: object };
  const { uid, resourceVersion, labels, annotations, ownerReferences } = metadataOf(answer);
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
    ownerUids: ((ownerReferences ?? []) as readonly { readonly uid?: unknown }[]).map((owner) => String(owner.uid)),
    labels: (labels ?? {}) as WantedSecret["labels"],
    annotations: (annotations ?? {}) as WantedSecret["annotations"],
    data: Object.fromEntries(texts),
  };
}
