/** Reads and writes Secrets. */
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
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
import { metadataOf, secretPath, secretsPath } from "../http/paths.ts";

const callTimeoutMs = 8_000;
const fieldManager = "endpoint-operator";

/** What the store of Secrets is made from. */
export interface SecretStoreOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** The service account of the operator, as `namespace:name`. */
  readonly account: string;
}

/** Single Secrets over the connection. @see SecretStore for what the calls guarantee */
export function createSecretStore({ connection, fence, account }: SecretStoreOptions): SecretStore & HeldSecrets {
  const write = async (call: Omit<KubernetesCall, "timeoutMs" | "fence">): Promise<unknown> => {
    if (!fence.mayStartEffect(callTimeoutMs)) {
      throw new LeaderFenceError();
    }
    return await connection.request({ ...call, timeoutMs: callTimeoutMs, fence });
  };
  /** Changes exactly the version that was read. */
  const patch = (what: string, { key, uid, resourceVersion }: StoredSecret, changes: SecretChanges) => {
    const body = { ...changes, metadata: { ...changes.metadata, uid, resourceVersion } };
    const contentType = "application/merge-patch+json";
    return write({ what, method: "PATCH", path: secretPath(key), query: { fieldManager }, contentType, body });
  };
  return {
    account,
    async read(key) {
      const what = `read ${nameOf(key)}`;
      const call: KubernetesCall = { what, method: "GET", path: secretPath(key), timeoutMs: callTimeoutMs };
      return await undefinedIfNotFound(connection.request(call).then((answer) => parseSecret(what, key, answer)));
    },
    async create(key, { type, owner, data }) {
      const what = `create ${nameOf(key)}`;
      const metadata = { name: key.name, namespace: key.namespace, ownerReferences: [{ ...owner, controller: true }] };
      const body = { apiVersion: "v1", kind: "Secret", metadata, type, data: encoded(data) };
      const path = secretsPath(key.namespace);
      return parseSecret(
        what,
        key,
        await withoutContent(data, write({ what, method: "POST", path, query: { fieldManager }, body })),
      );
    },
    async replaceData(before, data) {
      const gone = Object.keys(before.data).filter((name) => !(name in data));
      const changes = { data: { ...encoded(data), ...Object.fromEntries(gone.map((name) => [name, null])) } };
      const what = `patch ${nameOf(before.key)}`;
      return parseSecret(what, before.key, await withoutContent(data, patch(what, before, changes)));
    },
    async setFinalizers(before, finalizers) {
      await patch(`patch finalizers of ${nameOf(before.key)}`, before, { metadata: { finalizers } });
    },
    async delete({ key, uid, resourceVersion }) {
      const preconditions = { uid, resourceVersion };
      const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions };
      await undefinedIfNotFound(
        write({ what: `delete ${nameOf(key)}`, method: "DELETE", path: secretPath(key), body }),
      );
    },
  };
}

/**
 * Removes the written content from the error of a write: an admission webhook may quote the Secret that it refuses. The
 * new error has no cause, because the cause may also hold the content.
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

function encoded(data: SecretData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

interface SecretChanges {
  readonly metadata?: { readonly finalizers: readonly string[] };
  readonly data?: Readonly<Record<string, string | null>>;
}

interface WireSecret {
  readonly type?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Parses a Secret as the API server sent it. @throws KubernetesError when it is none */
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
