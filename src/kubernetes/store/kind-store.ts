/** Reads and writes the custom resources of one kind. */
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import {
  KubernetesError,
  type KubernetesReason,
  type ResourceKey,
  type ResourceStore,
} from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { resourcePath } from "../http/paths.ts";
import type { ResourceCache } from "../watch/resource-cache.ts";
import { isOlder } from "../watch/tombstones.ts";
import { type KindParser, type ResourceKind, type StoredResource, storedStatus } from "./kind-parser.ts";
import { diffForMerge, type Json } from "./merge-diff.ts";

/** What the store of one kind is made from. */
export interface KindStoreOptions<Resource extends StoredResource<Status>, Status extends object> {
  readonly kind: ResourceKind<Resource, Status>;
  readonly connection: KubernetesConnection;
  readonly cache: ResourceCache<Resource>;
  readonly parser: KindParser<Resource>;
  readonly fence: LeaderFence;
  /** Called when a read shows that etcd was restored: the object is older than it was before the read. @default nothing */
  readonly onRestored?: () => void;
}

type Parts<Resource extends StoredResource<Status>, Status extends object> = KindStoreOptions<Resource, Status> & {
  /**
   * The names of objects that were written with an unknown result and not read since. Their cached form may be wrong.
   */
  readonly doubtful: Set<string>;
};

/** The time limit of each call, in milliseconds. */
const callTimeoutMs = 8_000;

/** The operator's name in `metadata.managedFields`. */
const fieldManager = "endpoint-operator";

/**
 * The custom resources of one kind: reads from the cache, writes over the connection.
 * Every write is a JSON merge patch with uid and resourceVersion. It first asks the leader fence. It puts its answer
 * into the cache before it returns.
 */
export function createKindStore<Resource extends StoredResource<Status>, Status extends object>(
  options: KindStoreOptions<Resource, Status>,
): ResourceStore<Resource, Status> {
  const { cache, kind } = options;
  const { finalizer } = kind;
  const parts: Parts<Resource, Status> = { ...options, doubtful: new Set() };
  const reader = new Reader(parts);
  return {
    get: (key) => cache.get(key),
    async current(key) {
      if (parts.doubtful.has(nameOf(parts, key))) {
        await reader.read(key);
      }
      return cache.get(key);
    },
    inProject: (projectId) => cache.inProject(projectId),
    list: () => cache.list(),
    read: (key) => reader.read(key),
    async addFinalizer(resource) {
      if (resource.finalizers.includes(finalizer)) {
        return resource;
      }
      const finalizers = [...resource.finalizers, finalizer];
      return putOwnWrite(parts, resource, await patch(parts, resource, { metadata: { finalizers } }));
    },
    async removeFinalizer(resource) {
      if (!resource.finalizers.includes(finalizer)) {
        return resource;
      }
      const finalizers = resource.finalizers.filter((name) => name !== finalizer);
      const answer = await patch(parts, resource, { metadata: { finalizers } });
      if (isLastFinalizerGone(answer)) {
        cache.putOwnDeletion(resource);
        return undefined;
      }
      return putOwnWrite(parts, resource, answer);
    },
    async patchStatus(resource, status) {
      const stored = await reader.storedStatusOf(resource);
      const kept = Object.fromEntries(kind.unreadableMembers(resource).map((member) => [member, stored[member]]));
      const wanted = { ...status, ...kept };
      const changes = diffForMerge(stored, wanted as { readonly [key: string]: Json | undefined });
      if (changes === undefined) {
        return resource;
      }
      const answer = await patch(parts, resource, { status: changes }, "/status");
      return putOwnWrite(parts, resource, answer, { ...resource, status });
    },
  };
}

class Reader<Resource extends StoredResource<Status>, Status extends object> {
  readonly #parts: Parts<Resource, Status>;

  constructor(parts: Parts<Resource, Status>) {
    this.#parts = parts;
  }

  async read(key: ResourceKey): Promise<Resource | undefined> {
    const { parser, cache, doubtful, onRestored } = this.#parts;
    const before = cache.get(key);
    const stored = await this.#readStored(key);
    if (stored === undefined) {
      this.#noteGone(key, before);
      return undefined;
    }
    const name = nameOf(this.#parts, key);
    const resource = parseAnswer(this.#parts, `read ${name}`, () => parser.parse(stored));
    doubtful.delete(name);
    if (before !== undefined && isOlder(resource.resourceVersion, before.resourceVersion)) {
      onRestored?.();
    }
    cache.putRead(resource);
    return resource;
  }

  /**
   * Handles an object that is gone. A write with an unknown result may have deleted it; otherwise the watch reports the
   * deletion.
   */
  #noteGone(key: ResourceKey, before: Resource | undefined): void {
    if (this.#parts.doubtful.delete(nameOf(this.#parts, key)) && before !== undefined) {
      this.#parts.cache.putOwnDeletion(before);
    }
  }

  /**
   * Returns the stored status of exactly this version.
   * The cache keeps only the fields of the schema. If the stored status has other fields, which is rare, it is read
   * again, so that the difference to the new status is complete.
   */
  async storedStatusOf(resource: Resource): Promise<{ readonly [key: string]: Json | undefined }> {
    if (this.#parts.parser.hasWholeStatus(resource)) {
      return resource.status as { readonly [key: string]: Json | undefined };
    }
    const stored = await this.#readStored(resource.key);
    if (stored === undefined) {
      throw new KubernetesError(
        "NotFound",
        `cannot patch status of ${nameOf(this.#parts, resource.key)}: it does not exist`,
      );
    }
    const metadata = (stored as { readonly metadata?: { readonly uid?: unknown; readonly resourceVersion?: unknown } })
      .metadata;
    if (metadata?.uid !== resource.uid || metadata.resourceVersion !== resource.resourceVersion) {
      const message = `cannot patch status of ${nameOf(this.#parts, resource.key)}: it has changed or is another object by now`;
      throw new KubernetesError("Conflict", message);
    }
    const status = storedStatus(stored);
    return typeof status === "object" && !Array.isArray(status) ? (status as { readonly [key: string]: Json }) : {};
  }

  async #readStored(key: ResourceKey): Promise<unknown> {
    const what = `read ${nameOf(this.#parts, key)}`;
    try {
      const path = resourcePath(this.#parts.kind.plural, key);
      return await this.#parts.connection.request({ what, method: "GET", path, timeoutMs: callTimeoutMs });
    } catch (error) {
      if (error instanceof KubernetesError && error.reason === "NotFound") {
        return undefined;
      }
      throw error;
    }
  }
}

interface Changes {
  readonly metadata?: { readonly finalizers: readonly string[] };
  readonly status?: unknown;
}

async function patch<Resource extends StoredResource<Status>, Status extends object>(
  parts: Parts<Resource, Status>,
  resource: Resource,
  changes: Changes,
  subresource: "" | "/status" = "",
): Promise<unknown> {
  const { fence, connection, doubtful } = parts;
  if (!fence.mayStartEffect(callTimeoutMs)) {
    throw new LeaderFenceError();
  }
  const { key, uid, resourceVersion } = resource;
  try {
    return await connection.request({
      what: `patch ${subresource === "" ? "finalizers" : "status"} of ${nameOf(parts, key)}`,
      method: "PATCH",
      path: `${resourcePath(parts.kind.plural, key)}${subresource}`,
      query: { fieldManager },
      contentType: "application/merge-patch+json",
      body: { ...changes, metadata: { ...changes.metadata, uid, resourceVersion } },
      timeoutMs: callTimeoutMs,
      fence,
    });
  } catch (error) {
    if (leavesDoubt(error)) {
      doubtful.add(nameOf(parts, key));
    }
    throw error;
  }
}

/** Whether the stored object may differ from the cache after this error of a write. */
function leavesDoubt(error: unknown): boolean {
  return error instanceof KubernetesError ? reasonsOfDoubt.has(error.reason) : !(error instanceof LeaderFenceError);
}

/**
 * Failures after which the cache may be wrong. Without a usable answer the write may have been stored. After a conflict
 * the cache is known to be old.
 */
const reasonsOfDoubt: ReadonlySet<KubernetesReason> = new Set([
  "TimedOut",
  "Unavailable",
  "UnreadableAnswer",
  "Conflict",
]);

function putOwnWrite<Resource extends StoredResource<Status>, Status extends object>(
  parts: Parts<Resource, Status>,
  before: Resource,
  answer: unknown,
  expected: Resource = before,
): Resource {
  const name = nameOf(parts, before.key);
  // The object stays doubtful until the answer is parsed.
  parts.doubtful.add(name);
  const after = parseAnswer(parts, `patch ${name}`, () => parts.parser.parse(answer, expected));
  parts.doubtful.delete(name);
  parts.cache.putOwnWrite(before, after);
  return after;
}

function parseAnswer<Resource>({ kind }: Named, what: string, parse: () => Resource): Resource {
  try {
    return parse();
  } catch (error) {
    const message = `cannot ${what}: the answer is not a ${kind.kind}`;
    throw new KubernetesError("UnreadableAnswer", message, { cause: error });
  }
}

/**
 * Whether the write removed the last finalizer. The API server then deletes the object, and its answer shows the object
 * as it was.
 */
function isLastFinalizerGone(answer: unknown): boolean {
  const metadata = (
    answer as { readonly metadata?: { readonly deletionTimestamp?: unknown; readonly finalizers?: unknown } } | null
  )?.metadata;
  const finalizers = Array.isArray(metadata?.finalizers) ? metadata.finalizers : [];
  return typeof metadata?.deletionTimestamp === "string" && finalizers.length === 0;
}

/** The names of a kind for messages. */
interface Named {
  readonly kind: { readonly kind: string };
}

function nameOf({ kind }: Named, key: ResourceKey): string {
  return `${kind.kind} ${key.namespace}/${key.name}`;
}
