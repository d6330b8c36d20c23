/** Compares resourceVersions, and remembers the last resourceVersion of each deleted object. */
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { metadataOf } from "../http/objects.ts";

/** The maximum number of deletions that stay remembered after a list. A watch never lags behind by so many. */
const capacity = 10_000;

/**
 * Remembers deleted objects, so that a late event, list or answer does not bring them back. The oldest are forgotten
 * first.
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
   * Whether the object was deleted at this version or later. If its version is newer than the deletion, it exists: a
   * backup was restored.
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

/**
 * Compares two resourceVersions as unsigned numbers of any length.
 * @returns negative, 0 or positive; `undefined` if one of them is not a number, so their order is unknown.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions (comparable since 1.35)
 */
export function compareResourceVersions(left: string, right: string): number | undefined {
  if (!isNumber(left) || !isNumber(right)) {
    return left === right ? 0 : undefined;
  }
  const [leftDigits, rightDigits] = [withoutLeadingZeros(left), withoutLeadingZeros(right)];
  if (leftDigits.length !== rightDigits.length) {
    return leftDigits.length - rightDigits.length;
  }
  return leftDigits === rightDigits ? 0 : leftDigits < rightDigits ? -1 : 1;
}

/** Whether `left` is known to be older than `right`. */
export function isOlder(left: string, right: string): boolean {
  const order = compareResourceVersions(left, right);
  return order !== undefined && order < 0;
}

/** Returns the newer of two resourceVersions; the second one if their order is unknown. */
export function newerOf(left: string | undefined, right: string): string {
  return left !== undefined && isOlder(right, left) ? left : right;
}

/** Returns the resourceVersion of a stored object; `undefined` if it has none. */
export function versionOf(object: unknown): string | undefined {
  const version = metadataOf(object).resourceVersion;
  return typeof version === "string" && version !== "" ? version : undefined;
}

const isNumber = (text: string) => /^[0-9]+$/.test(text);
const withoutLeadingZeros = (digits: string) => digits.replace(/^0+(?=.)/, "");
