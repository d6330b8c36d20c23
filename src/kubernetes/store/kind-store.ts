import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import type { ResourceKey, ResourceStore } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { mergePatch, metadataOf, objectPath, readObject, writeObject, writeQuery } from "../http/objects.ts";
import { ResourceCache } from "../watch/resource-cache.ts";
import type { Json, ResourceKind, StoredResource } from "./resource-kinds.ts";

interface KindStoreOptions<Resource extends StoredResource<Status>, Status extends object> {
  readonly kind: ResourceKind<Resource, Status>;
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  /** As that of the cache. */
  readonly onChange: (key: ResourceKey) => void;
}

interface Changes {
  readonly metadata?: { readonly finalizers: readonly string[] };
  readonly status?: unknown;
}

/**
 * The cache of the custom resources of one kind, and the writes of this process.
 * Every write is a JSON merge patch with uid and resourceVersion. A write first asks the leader fence, and puts its
 * answer into the cache before it returns.
 */
export class KindStore<Resource extends StoredResource<Status>, Status extends object>
  extends ResourceCache<Resource>
  implements ResourceStore<Resource, Status>
{
  readonly #options: KindStoreOptions<Resource, Status>;
  /** The objects whose cached form may be wrong since a write failed. A read removes an object from this set. */
  readonly #doubtful = new Set<string>();

  constructor(options: KindStoreOptions<Resource, Status>) {
    super({ indexesOf: options.kind.indexesOf, onChange: options.onChange });
    this.#options = options;
  }

  async current(key: ResourceKey): Promise<Resource | undefined> {
    if (this.#doubtful.has(this.#nameOf(key))) {
      await this.read(key);
    }
    return this.get(key);
  }

  async read(key: ResourceKey): Promise<Resource | undefined> {
    const before = this.get(key);
    const name = this.#nameOf(key);
    const stored = await readObject(this.#options.connection, name, this.#pathOf(key));
    if (stored === undefined) {
      // A write with an unknown result, or another client, has deleted the object. The watch may report it much later.
      this.#doubtful.delete(name);
      if (before !== undefined) this.putOwnDeletion(before);
      return undefined;
    }
    const resource = this.#options.kind.parse(stored);
    this.#doubtful.delete(name);
    this.putRead(resource);
    return resource;
  }

  async addFinalizer(resource: Resource): Promise<Resource> {
    const { finalizer } = this.#options.kind;
    if (resource.finalizers.includes(finalizer)) {
      return resource;
    }
    const finalizers = [...resource.finalizers, finalizer];
    return this.#putOwnWrite(resource, await this.#patch(resource, { metadata: { finalizers } }));
  }

  async removeFinalizer(resource: Resource): Promise<Resource | undefined> {
    const { finalizer } = this.#options.kind;
    if (!resource.finalizers.includes(finalizer)) {
      return resource;
    }
    const finalizers = resource.finalizers.filter((name) => name !== finalizer);
    const answer = await this.#patch(resource, { metadata: { finalizers } });
    if (isLastFinalizerGone(answer)) {
      this.putOwnDeletion(resource);
      return undefined;
    }
    return this.#putOwnWrite(resource, answer);
  }

  async patchStatus(resource: Resource, status: Status): Promise<Resource> {
    // Stored fields that the operator cannot parse stay as they are.
    const changes = diffForMerge(resource.status as JsonObject, status as JsonObject);
    if (changes === undefined) {
      return resource;
    }
    const answer = await this.#patch(resource, { status: changes }, "/status");
    return this.#putOwnWrite(resource, answer, { ...resource, status });
  }

  async #patch(resource: Resource, changes: Changes, subresource: "" | "/status" = "") {
    const { key } = resource;
    try {
      return await writeObject(this.#options, {
        what: `patch ${subresource === "" ? "finalizers" : "status"} of ${this.#nameOf(key)}`,
        path: `${this.#pathOf(key)}${subresource}`,
        query: writeQuery,
        ...mergePatch({ ...changes }, resource),
      });
    } catch (error) {
      if (!(error instanceof LeaderFenceError)) this.#doubtful.add(this.#nameOf(key));
      throw error;
    }
  }

  #putOwnWrite(before: Resource, answer: unknown, expected: Resource = before): Resource {
    const after = this.#options.kind.parse(answer, expected);
    this.#doubtful.delete(this.#nameOf(before.key));
    this.putOwnWrite(after);
    return after;
  }

  #pathOf({ namespace, name }: ResourceKey): string {
    return objectPath(this.#options.kind.plural, namespace, name);
  }

  #nameOf({ namespace, name }: ResourceKey): string {
    return `${this.#options.kind.kind} ${namespace}/${name}`;
  }
}

/** Whether the last finalizer is gone. The API server then deletes the object, and answers with its last form. */
function isLastFinalizerGone(answer: unknown): boolean {
  const { deletionTimestamp, finalizers } = metadataOf(answer);
  return typeof deletionTimestamp === "string" && !(Array.isArray(finalizers) && finalizers.length > 0);
}

type JsonObject = { readonly [key: string]: Json | undefined };

/** The JSON merge patch (RFC 7386) of the differences. Lists are replaced as a whole. `undefined`: nothing differs. */
export function diffForMerge(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = diffMember(before[key], after[key]);
    if (change !== undefined) {
      patch[key] = change;
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function diffMember(before: Json | undefined, after: Json | undefined): Json | undefined {
  if (after === undefined) {
    return before === undefined ? undefined : null;
  }
  if (isObject(before) && isObject(after)) {
    return diffForMerge(before, after);
  }
  return isSameStored(before, after) ? undefined : after;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
