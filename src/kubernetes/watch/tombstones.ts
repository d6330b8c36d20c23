import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isOlder } from "./resource-version.ts";

/**
 * The maximum number of deletions that are remembered: more than a watch can lag behind. Each entry takes little
 * memory.
 */
const capacity = 10_000;

/**
 * Remembers deleted objects, so that a late event, list or answer does not put them back into the cache.
 * Its size is limited: the oldest entries are removed first.
 */
export class Tombstones {
  readonly #versionByUid = new Map<string, string>();

  add(resource: StoredIdentity): void {
    const known = this.#versionByUid.get(resource.uid);
    this.#versionByUid.delete(resource.uid);
    const isOlderThanKnown = known !== undefined && isOlder(resource.resourceVersion, known);
    this.#versionByUid.set(resource.uid, isOlderThanKnown ? known : resource.resourceVersion);
  }

  /**
   * Whether the object is known to be deleted at this version. If its version is newer, it counts as alive: the cluster
   * was restored from a backup.
   */
  covers(resource: StoredIdentity): boolean {
    const version = this.versionOf(resource.uid);
    return version !== undefined && !isOlder(version, resource.resourceVersion);
  }

  /** Returns the last known version of a deleted object; `undefined` if the object is not known to be deleted. */
  versionOf(uid: string): string | undefined {
    return this.#versionByUid.get(uid);
  }

  /** Forgets a deletion, because the object exists after all. */
  forget({ uid }: StoredIdentity): void {
    this.#versionByUid.delete(uid);
  }

  prune(): void {
    for (const uid of this.#versionByUid.keys()) {
      if (this.#versionByUid.size <= capacity) {
        return;
      }
      this.#versionByUid.delete(uid);
    }
  }
}
