import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isOlder } from "./resource-version.ts";

/** More deletions than a watch can lag behind. A uid and a version take little memory. */
const capacity = 10_000;

/**
 * Remembers deleted objects, so that a late event, list or answer does not put them back into the cache.
 *
 * Bounded: the oldest entries go first.
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
   * Whether the object is known to be deleted at this version. A newer version of the same uid counts as alive: the cluster
   * was restored from a backup.
   */
  covers(resource: StoredIdentity): boolean {
    const version = this.versionOf(resource.uid);
    return version !== undefined && !isOlder(version, resource.resourceVersion);
  }

  /** The last known version of a deleted object; `undefined` when the object is not known to be deleted. */
  versionOf(uid: string): string | undefined {
    return this.#versionByUid.get(uid);
  }

  /** The object exists after all. */
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
