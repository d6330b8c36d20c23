/** The cache of the resources of one kind. */
import { keyText, type ResourceKey, type StoredIdentity } from "../../domain/resource-store.ts";
import { compareResourceVersions, isOlder, newerOf, Tombstones } from "./tombstones.ts";

/**
 * `Listed`: the first list of a namespace, or of all, showed the resource, for instance after a start. `Changed`: it
 * changed or was deleted later.
 */
export type ChangeOrigin = "Listed" | "Changed";

interface ResourceCacheOptions<Resource> {
  /** Returns each text under which `withIndex` finds a resource. */
  readonly indexesOf: (resource: Resource) => readonly string[];
  /** Called for every change, also for deletions. If it throws, `onHandlerError` is called. */
  readonly onChange: (key: ResourceKey, origin: ChangeOrigin) => void;
  readonly onHandlerError: (key: ResourceKey, error: unknown) => void;
}

/** A complete, consistent list of one scope. */
interface ConsistentList<Resource> {
  readonly resources: readonly Resource[];
  readonly resourceVersion: string;
  /** The newest resourceVersion that the scope had seen before the list began; `undefined`: none. */
  readonly floor: string | undefined;
}

interface Entry<Resource> {
  readonly resource: Resource;
  /** Whether a list or an event has shown this object. False: only our own reads and writes have shown it. */
  readonly isAnnounced: boolean;
}

/** The part of a cache that one reflector fills: one namespace, or everything. */
export interface CacheScope<Resource> {
  /**
   * Returns the newest resourceVersion that this scope has seen. Unless etcd is restored, a consistent list that begins
   * later cannot be older.
   */
  floor(): string | undefined;
  /**
   * Makes the scope equal to the list, except for objects that are newer than the list.
   * If etcd was restored, the list is right and the cache is wrong. If the version of the list is lower than before,
   * everything is replaced. If the restore raised the versions, the cache replaces each object that the list shows in
   * an older version.
   * @returns whether the list proves that etcd was restored.
   */
  replace(list: ConsistentList<Resource>): boolean;
  /** Adds or changes an object. An older version than the cached one is ignored. */
  applyChange(resource: Resource): void;
  /** Removes an object. If another object has the name by now, that one stays. */
  applyDeletion(resource: Resource): void;
  /** Notes a bookmark: every event up to this version has arrived. */
  applyBookmark(resourceVersion: string): void;
}

/**
 * The latest known state of each object, with an index by project.
 * Guarantees: unless etcd was restored, it never returns an object older than the last own write or event. `onChange`
 * reports every change by another client once. It does not report our own writes, because their caller decides what
 * comes next. It reports our own deletions.
 */
export class ResourceCache<Resource extends StoredIdentity> {
  readonly #options: ResourceCacheOptions<Resource>;
  readonly #entries = new Map<string, Entry<Resource>>();
  readonly #idsByIndex = new Map<string, Set<string>>();
  readonly #tombstones = new Tombstones();
  /** The newest resourceVersion seen in each namespace; the key "" stands for all namespaces. */
  readonly #floors = new Map<string, string>();

  constructor(options: ResourceCacheOptions<Resource>) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: ResourceKey): Resource | undefined {
    return this.#entries.get(keyText(key))?.resource;
  }

  list(): readonly Resource[] {
    return [...this.#entries.values()].map((entry) => entry.resource);
  }

  withIndex(index: string): readonly Resource[] {
    const ids = [...(this.#idsByIndex.get(index) ?? [])];
    return ids.flatMap((id) => this.#entries.get(id)?.resource ?? []);
  }

  /**
   * Puts the answer to a write of ours into the cache.
   * @param before the object that the write named by uid and resourceVersion.
   */
  putOwnWrite(before: Resource, after: Resource): void {
    const entry = this.#entries.get(keyText(after.key));
    const cached = entry?.resource;
    // The write named exactly the cached object. So its answer is newer, even if the version numbers say otherwise.
    const isDirectSuccessor = cached?.uid === before.uid && cached.resourceVersion === before.resourceVersion;
    const isUnchanged = cached?.resourceVersion === after.resourceVersion;
    if (isUnchanged || (!isDirectSuccessor && !this.#isNews(after))) {
      return;
    }
    this.#raiseFloor(after);
    // The caller knows about its own write. But if the object before the write came from an unreported read, that change
    // must still be reported.
    this.#set({ resource: after, isAnnounced: isDirectSuccessor && entry?.isAnnounced === true });
  }

  /**
   * Removes an object that our own write deleted. This is reported at once, because other resources may wait for it.
   */
  putOwnDeletion(resource: Resource): void {
    if (this.#delete(resource)) {
      this.#announce(resource.key, "Changed");
    }
  }

  /**
   * Puts the answer to a read into the cache, unless the cache holds a newer version or the object was deleted since.
   * The change is reported when an event shows it.
   */
  putRead(resource: Resource): void {
    if (this.#isNews(resource)) {
      this.#raiseFloor(resource);
      this.#set({ resource, isAnnounced: false });
    }
  }

  /** Returns the scope of a namespace; `undefined`: of all namespaces. Scopes must not overlap. */
  scope(namespace: string | undefined): CacheScope<Resource> {
    const name = namespace ?? "";
    return {
      floor: () => this.#floors.get(name),
      replace: (list) => this.#replace(name, list),
      applyChange: (resource) => {
        this.#floors.set(name, newerOf(this.#floors.get(name), resource.resourceVersion));
        this.#apply(resource, "Changed");
      },
      applyDeletion: (resource) => {
        this.#floors.set(name, newerOf(this.#floors.get(name), resource.resourceVersion));
        if (this.#delete(resource)) {
          this.#announce(resource.key, "Changed");
        }
      },
      applyBookmark: (resourceVersion) => {
        this.#floors.set(name, newerOf(this.#floors.get(name), resourceVersion));
      },
    };
  }

  #replace(scope: string, list: ConsistentList<Resource>): boolean {
    const isNewEpoch = list.floor !== undefined && isOlder(list.resourceVersion, list.floor);
    const isFirst = list.floor === undefined;
    this.#floors.set(scope, isNewEpoch ? list.resourceVersion : newerOf(this.#floors.get(scope), list.resourceVersion));
    this.#removeMissing(scope, list, isNewEpoch);
    let isRewritten = isNewEpoch;
    for (const resource of list.resources) {
      if (isNewEpoch || this.#isOfAnotherHistory(resource, list.resourceVersion)) {
        isRewritten = true;
        this.#tombstones.forget(resource);
        this.#setIfDifferent(resource);
      } else {
        this.#apply(resource, isFirst ? "Listed" : "Changed");
      }
    }
    this.#tombstones.prune();
    return isRewritten;
  }

  /**
   * Whether a consistent list shows an object in an older version than the cache had at the list's version. That
   * happens only after etcd was restored with raised versions, as its manual advises.
   * @see https://etcd.io/docs/v3.6/op-guide/recovery/ (revision bump, read 2026-11-21)
   */
  #isOfAnotherHistory(resource: Resource, listVersion: string): boolean {
    const cached = this.#entries.get(keyText(resource.key))?.resource.resourceVersion;
    const known = [cached, this.#tombstones.versionOf(resource.uid)].filter((version) => version !== undefined);
    const isAnyNewerThanList = known.some((version) => isOlder(listVersion, version));
    return !isAnyNewerThanList && known.some((version) => isOlder(resource.resourceVersion, version));
  }

  #removeMissing(scope: string, list: ConsistentList<Resource>, isNewEpoch: boolean): void {
    const listed = new Set(list.resources.map((resource) => keyText(resource.key)));
    for (const { resource } of [...this.#entries.values()]) {
      const isInScope = scope === "" || resource.key.namespace === scope;
      // The object is newer than the list: it came from our own read or write while the list was in progress.
      const isNewerThanList = !isNewEpoch && isOlder(list.resourceVersion, resource.resourceVersion);
      if (isInScope && !listed.has(keyText(resource.key)) && !isNewerThanList) {
        // The object was deleted after its last known version and before the list. So it counts as deleted at the
        // version of the list.
        this.#delete({ ...resource, resourceVersion: list.resourceVersion });
        this.#announce(resource.key, "Changed");
      }
    }
  }

  #apply(resource: Resource, origin: ChangeOrigin): void {
    const entry = this.#entries.get(keyText(resource.key));
    const isOwnWrite =
      entry !== undefined &&
      entry.resource.uid === resource.uid &&
      entry.resource.resourceVersion === resource.resourceVersion;
    if (isOwnWrite && entry.isAnnounced) {
      return;
    }
    if (!isOwnWrite && !this.#isNews(resource)) {
      return;
    }
    this.#set({ resource: isOwnWrite ? entry.resource : resource, isAnnounced: true });
    this.#announce(resource.key, origin);
  }

  #setIfDifferent(resource: Resource): void {
    const cached = this.#entries.get(keyText(resource.key))?.resource;
    if (cached?.uid === resource.uid && cached.resourceVersion === resource.resourceVersion) {
      return;
    }
    this.#set({ resource, isAnnounced: true });
    this.#announce(resource.key, "Changed");
  }

  /**
   * Whether a resource is newer than the cached object, and not a version of a deleted object. If the order of the
   * versions is unknown, it counts as newer.
   */
  #isNews(resource: Resource): boolean {
    if (this.#tombstones.covers(resource)) {
      return false;
    }
    const cached = this.#entries.get(keyText(resource.key))?.resource;
    if (cached === undefined) {
      return true;
    }
    const order = compareResourceVersions(resource.resourceVersion, cached.resourceVersion);
    return order === undefined || order > 0;
  }

  #set(entry: Entry<Resource>): void {
    const id = keyText(entry.resource.key);
    const before = this.#entries.get(id)?.resource;
    if (before !== undefined && before.uid !== entry.resource.uid) {
      // Another object has the name now, so the old object was deleted.
      this.#delete(before);
    } else if (before !== undefined) {
      this.#unindex(id, before);
    }
    this.#entries.set(id, entry);
    this.#index(id, entry.resource);
  }

  /** Remembers that an object was deleted, and removes it from the cache. @returns whether the cache had the object */
  #delete(resource: StoredIdentity): boolean {
    this.#tombstones.add(resource);
    const id = keyText(resource.key);
    const cached = this.#entries.get(id)?.resource;
    if (cached?.uid !== resource.uid) {
      return false;
    }
    this.#entries.delete(id);
    this.#unindex(id, cached);
    return true;
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

  #raiseFloor(resource: Resource): void {
    for (const name of ["", resource.key.namespace]) {
      const floor = this.#floors.get(name);
      if (floor !== undefined) {
        this.#floors.set(name, newerOf(floor, resource.resourceVersion));
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
