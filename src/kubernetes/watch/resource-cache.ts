/** The cache of the resources of one kind. */
import { keyText, type ResourceKey, type StoredIdentity } from "../../domain/resource-store.ts";
import { isOlder } from "./resource-version.ts";

/** `Listed`: the first list showed the resource, for instance after a start. `Changed`: it changed later. */
export type ChangeOrigin = "Listed" | "Changed";

interface ResourceCacheOptions<Resource> {
  readonly indexesOf: (resource: Resource) => readonly string[];
  /** Called for every change, also for deletions. If it throws, `onHandlerError` is called. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  readonly onHandlerError: (key: ResourceKey, error: unknown) => void;
}

interface Entry<Resource> {
  readonly resource: Resource;
  /** True after our own deletion, until the watch reports it, so that late events do not bring the object back. */
  readonly isDeleted: boolean;
}

/** The part of a cache that one reflector fills: one namespace, or everything. */
export interface CacheScope<Resource> {
  /** Makes the scope equal to a complete list, except for objects whose cached version is newer. */
  replace(resources: readonly Resource[], origin: ChangeOrigin): void;
  /** Adds or changes an object. An older version than the cached one is ignored. */
  applyChange(resource: Resource): void;
  /** Removes an object. If another object has the name by now, that one stays. */
  applyDeletion(resource: Resource): void;
}

/**
 * The latest known state of each object, with an index by project.
 * Guarantees: it never returns an object older than the last own write, read or event. Only lists and events add
 * objects. `onChange` reports every change by another client once. It does not report our own writes, because their
 * caller decides what comes next. It reports our own deletions.
 */
export class ResourceCache<Resource extends StoredIdentity> {
  readonly #options: ResourceCacheOptions<Resource>;
  readonly #entries = new Map<string, Entry<Resource>>();
  readonly #idsByIndex = new Map<string, Set<string>>();

  constructor(options: ResourceCacheOptions<Resource>) {
    this.#options = options;
  }

  get size(): number {
    return this.list().length;
  }

  get(key: ResourceKey): Resource | undefined {
    return this.#present(keyText(key));
  }

  list(): readonly Resource[] {
    return [...this.#entries.values()].flatMap(({ resource, isDeleted }) => (isDeleted ? [] : resource));
  }

  withIndex(index: string): readonly Resource[] {
    const ids = [...(this.#idsByIndex.get(index) ?? [])];
    return ids.flatMap((id) => this.#present(id) ?? []);
  }

  /** Puts the answer to a write of ours into the cache, unless the cache holds a newer version or another object. */
  putOwnWrite(resource: Resource): void {
    if (this.get(resource.key)?.uid === resource.uid && this.#isNews(resource)) {
      this.#set(resource);
    }
  }

  /** This is reported at once, because other resources may wait for the deletion. */
  putOwnDeletion(resource: Resource): void {
    const id = keyText(resource.key);
    const cached = this.#present(id);
    if (cached?.uid === resource.uid) {
      this.#unindex(id, cached);
      this.#entries.set(id, { resource: cached, isDeleted: true });
      this.#announce(resource.key, "Changed");
    }
  }

  /** Puts the answer to a read into the cache, unless the cache holds a newer version or the object was deleted since. */
  putRead(resource: Resource): void {
    if (this.get(resource.key) !== undefined) {
      this.#apply(resource, "Changed");
    }
  }

  /** Returns the scope of a namespace; `undefined`: of all namespaces. Scopes must not overlap. */
  scope(namespace: string | undefined): CacheScope<Resource> {
    return {
      replace: (resources, origin) => this.#replace(namespace, resources, origin),
      applyChange: (resource) => this.#apply(resource, "Changed"),
      applyDeletion: (resource) => {
        if (this.#entries.get(keyText(resource.key))?.resource.uid === resource.uid) {
          this.#delete(resource.key);
        }
      },
    };
  }

  #replace(namespace: string | undefined, resources: readonly Resource[], origin: ChangeOrigin): void {
    const listed = new Set(resources.map(({ key }) => keyText(key)));
    for (const { resource } of [...this.#entries.values()]) {
      const isInScope = namespace === undefined || resource.key.namespace === namespace;
      if (isInScope && !listed.has(keyText(resource.key))) {
        this.#delete(resource.key);
      }
    }
    for (const resource of resources) {
      this.#apply(resource, origin);
    }
  }

  #apply(resource: Resource, origin: ChangeOrigin): void {
    if (this.#isNews(resource)) {
      this.#set(resource);
      this.#announce(resource.key, origin);
    }
  }

  /** Whether a resource is newer than the cached object. If the order of the versions is unknown, it counts as newer. */
  #isNews({ key, uid, resourceVersion }: Resource): boolean {
    const entry = this.#entries.get(keyText(key));
    if (entry === undefined) {
      return true;
    }
    const { resource: cached, isDeleted } = entry;
    const isSameAgain = cached.uid === uid && (isDeleted || cached.resourceVersion === resourceVersion);
    return !isSameAgain && !isOlder(resourceVersion, cached.resourceVersion);
  }

  #present(id: string): Resource | undefined {
    const entry = this.#entries.get(id);
    return entry?.isDeleted === false ? entry.resource : undefined;
  }

  #set(resource: Resource): void {
    const id = keyText(resource.key);
    const before = this.#present(id);
    if (before !== undefined) {
      this.#unindex(id, before);
    }
    this.#entries.set(id, { resource, isDeleted: false });
    this.#index(id, resource);
  }

  #delete(key: ResourceKey): void {
    const id = keyText(key);
    const cached = this.#present(id);
    this.#entries.delete(id);
    if (cached !== undefined) {
      this.#unindex(id, cached);
      this.#announce(key, "Changed");
    }
  }

  #index(id: string, resource: Resource): void {
    for (const index of this.#options.indexesOf(resource)) {
      const ids = this.#idsByIndex.get(index) ?? new Set();
      ids.add(id);
      this.#idsByIndex.set(index, ids);
    }
  }

  #unindex(id: string, resource: Resource): void {
    for (const index of this.#options.indexesOf(resource)) {
      const ids = this.#idsByIndex.get(index);
      ids?.delete(id);
      if (ids?.size === 0) {
        this.#idsByIndex.delete(index);
      }
    }
  }

  #announce(key: ResourceKey, origin: ChangeOrigin): void {
    try {
      this.#options.onChange(key, origin);
    } catch (error) {
      this.#options.onHandlerError(key, error);
    }
  }
}
