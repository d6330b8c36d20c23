import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isOlder } from "./resource-version.ts";

/** More than a watch can lag behind; a uid and a version take little room. */
const capacity = 10_000;

/**
 * Remembers objects that are gone, so that a late event, list or answer does not bring them back to life.
 *
 * Bounded: the oldest are forgotten first.
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
   * Whether it speaks of the time before the object's end. A newer version of the same uid is believed: the cluster
   * was restored from a backup.
   */
  covers(resource: StoredIdentity): boolean {
    const version = this.versionOf(resource.uid);
    return version !== undefined && !isOlder(version, resource.resourceVersion);
  }

  /** The last version that is known of a dead object, or that of its end; `undefined` when it is not known as dead. */
  versionOf(uid: string): string | undefined {
    return this.#versionByUid.get(uid);
  }

  /** It lives after all. */
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
