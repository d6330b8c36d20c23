import { keyText, type ResourceKey, type StoredIdentity } from "../../domain/resource-store.ts";
import { isOlder } from "../http/objects.ts";

interface ResourceCacheOptions<Resource> {
  readonly indexesOf: (resource: Resource) => readonly string[];
  /** Called for every change, also for deletions. Must not throw. */
  readonly onChange: (key: ResourceKey) => void;
}

/**
 * The latest known state of each object, with an index by project.
 * Guarantees: it never returns an object older than the last own write, read or event. Only lists and events add
 * objects. `onChange` reports every change by another client once. Our own writes are not reported, because their
 * caller decides what comes next, unless the watch shows them before their answer. Our own deletions are reported.
 */
export class ResourceCache<Resource extends StoredIdentity> {
  readonly #options: ResourceCacheOptions<Resource>;
  readonly #resources = new Map<string, Resource>();
  readonly #idsByIndex = new Map<string, Set<string>>();
  /** The uids of objects that we have deleted, until the watch reports it, so that late events do not bring them back. */
  readonly #ownDeletions = new Map<string, string>();

  constructor(options: ResourceCacheOptions<Resource>) {
    this.#options = options;
  }

  get(key: ResourceKey): Resource | undefined {
    return this.#resources.get(keyText(key));
  }

  list(): readonly Resource[] {
    return [...this.#resources.values()];
  }

  withIndex(index: string): readonly Resource[] {
    const ids = [...(this.#idsByIndex.get(index) ?? [])];
    return ids.flatMap((id) => this.#resources.get(id) ?? []);
  }

  /** Puts the answer to a write of ours into the cache, unless the cache holds a newer version or another object. */
  putOwnWrite(resource: Resource): void {
    if (this.get(resource.key)?.uid === resource.uid && this.#isNews(resource)) {
      this.#set(resource);
    }
  }

  /** This is reported at once, because other resources may wait for the deletion. */
  putOwnDeletion({ key, uid }: Resource): void {
    if (this.get(key)?.uid === uid) {
      this.#ownDeletions.set(keyText(key), uid);
      this.#delete(key);
    }
  }

  /** Puts the answer to a read into the cache, unless the cache holds a newer version or the object was deleted since. */
  putRead(resource: Resource): void {
    if (this.get(resource.key) !== undefined) {
      this.apply(resource);
    }
  }

  /**
   * Makes a namespace, or if it is `undefined` the whole cache, equal to a complete list, except for objects whose cached
   * version is newer.
   */
  replace(namespace: string | undefined, resources: readonly Resource[]): void {
    const listed = new Set(resources.map(({ key }) => keyText(key)));
    for (const id of [...this.#ownDeletions.keys()].filter((each) => !listed.has(each))) {
      this.#ownDeletions.delete(id);
    }
    const isGone = ({ key }: Resource) =>
      !listed.has(keyText(key)) && (namespace === undefined || key.namespace === namespace);
    for (const { key } of this.list().filter(isGone)) {
      this.#delete(key);
    }
    for (const resource of resources) {
      this.apply(resource);
    }
  }

  apply(resource: Resource): void {
    if (this.#isNews(resource)) {
      this.#set(resource);
      this.#options.onChange(resource.key);
    }
  }

  remove({ key, uid }: Resource): void {
    if (this.#ownDeletions.get(keyText(key)) === uid) {
      this.#ownDeletions.delete(keyText(key));
    }
    if (this.get(key)?.uid === uid) {
      this.#delete(key);
    }
  }

  /** Whether a resource is newer than the cached object. If the order of the versions is unknown, it counts as newer. */
  #isNews({ key, uid, resourceVersion }: Resource): boolean {
    const cached = this.get(key);
    if (cached === undefined) {
      return this.#ownDeletions.get(keyText(key)) !== uid;
    }
    const isSameAgain = cached.uid === uid && cached.resourceVersion === resourceVersion;
    return !isSameAgain && !isOlder(resourceVersion, cached.resourceVersion);
  }

  #set(resource: Resource): void {
    const id = keyText(resource.key);
    this.#ownDeletions.delete(id);
    this.#unindex(id);
    this.#resources.set(id, resource);
    for (const index of this.#options.indexesOf(resource)) {
      const ids = this.#idsByIndex.get(index) ?? new Set();
      ids.add(id);
      this.#idsByIndex.set(index, ids);
    }
  }

  #delete(key: ResourceKey): void {
    const id = keyText(key);
    this.#unindex(id);
    if (this.#resources.delete(id)) {
      this.#options.onChange(key);
    }
  }

  #unindex(id: string): void {
    const resource = this.#resources.get(id);
    for (const index of resource === undefined ? [] : this.#options.indexesOf(resource)) {
      const ids = this.#idsByIndex.get(index);
      ids?.delete(id);
      if (ids?.size === 0) {
        this.#idsByIndex.delete(index);
      }
    }
  }
}
