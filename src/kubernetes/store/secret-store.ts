/** Reads and writes Secrets. */
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import { KubernetesError, type ResourceKey } from "../../domain/resource-store.ts";
import type { HeldSecrets, SecretData, SecretStore, StoredSecret } from "../../domain/secret-store.ts";
import type { KubernetesCall, KubernetesConnection } from "../http/connection.ts";
import { secretPath, secretsPath } from "../http/paths.ts";

const callTimeoutMs = 8_000;
const fieldManager = "endpoint-operator";

/** What the store of Secrets is made from. */
export interface SecretStoreOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
}

/** Single Secrets over the connection. @see SecretStore for what the calls guarantee */
export function createSecretStore({ connection, fence }: SecretStoreOptions): SecretStore & HeldSecrets {
  const write = async (call: Omit<KubernetesCall, "timeoutMs" | "fence">): Promise<unknown> => {
    if (!fence.mayStartEffect(callTimeoutMs)) {
      throw new LeaderFenceError();
    }
    return await connection.request({ ...call, timeoutMs: callTimeoutMs, fence });
  };
  return {
    async read(key) {
      const what = `read ${nameOf(key)}`;
      try {
        const answer = await connection.request({
          what,
          method: "GET",
          path: secretPath(key),
          timeoutMs: callTimeoutMs,
        });
        return parseSecret(what, key, answer);
      } catch (error) {
        if (error instanceof KubernetesError && error.reason === "NotFound") {
          return undefined;
        }
        throw error;
      }
    },
    async create(key, { type, owner, data }) {
      const what = `create ${nameOf(key)}`;
      const metadata = { name: key.name, namespace: key.namespace, ownerReferences: [{ ...owner, controller: true }] };
      const body = { apiVersion: "v1", kind: "Secret", metadata, type, data: encoded(data) };
      const path = secretsPath(key.namespace);
      return parseSecret(what, key, await write({ what, method: "POST", path, query: { fieldManager }, body }));
    },
    async replaceData(before, data) {
      const { key, uid, resourceVersion } = before;
      const what = `patch ${nameOf(key)}`;
      const gone = Object.keys(before.data).filter((name) => !(name in data));
      const body = {
        metadata: { uid, resourceVersion },
        data: { ...encoded(data), ...Object.fromEntries(gone.map((name) => [name, null])) },
      };
      const contentType = "application/merge-patch+json";
      const query = { fieldManager };
      return parseSecret(
        what,
        key,
        await write({ what, method: "PATCH", path: secretPath(key), query, contentType, body }),
      );
    },
    async setFinalizers({ key, uid, resourceVersion }, finalizers) {
      const body = { metadata: { uid, resourceVersion, finalizers } };
      const contentType = "application/merge-patch+json";
      const what = `patch finalizers of ${nameOf(key)}`;
      await write({ what, method: "PATCH", path: secretPath(key), query: { fieldManager }, contentType, body });
    },
    async delete({ key, uid, resourceVersion }) {
      const preconditions = { uid, resourceVersion };
      const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions };
      try {
        await write({ what: `delete ${nameOf(key)}`, method: "DELETE", path: secretPath(key), body });
      } catch (error) {
        if (!(error instanceof KubernetesError && error.reason === "NotFound")) {
          throw error;
        }
      }
    },
  };
}

function nameOf({ namespace, name }: ResourceKey): string {
  return `Secret ${namespace}/${name}`;
}

function encoded(data: SecretData): Record<string, string> {
  return Object.fromEntries(Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
}

interface WireSecret {
  readonly metadata?: {
    readonly uid?: unknown;
    readonly resourceVersion?: unknown;
    readonly ownerReferences?: readonly { readonly uid?: unknown }[];
    readonly finalizers?: readonly unknown[];
    readonly deletionTimestamp?: unknown;
  };
  readonly type?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

function parseSecret(what: string, key: ResourceKey, answer: unknown): StoredSecret {
  const { metadata, type, data } = (answer ?? {}) as WireSecret;
  const { uid, resourceVersion, ownerReferences, finalizers = [], deletionTimestamp } = metadata ?? {};
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
    ownerUids: (ownerReferences ?? []).map((owner) => String(owner.uid)),
    data: Object.fromEntries(texts),
    finalizers: finalizers.map(String),
    isBeingDeleted: deletionTimestamp !== undefined,
  };
}
