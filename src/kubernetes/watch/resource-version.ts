/** Reads and compares resourceVersions. */
import { metadataOf } from "../http/objects.ts";

/**
 * Whether `left` is known to be older than `right`. Two versions that are not both numbers have no known order.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions (comparable since 1.35)
 */
export function isOlder(left: string, right: string): boolean {
  return isNumber(left) && isNumber(right) && BigInt(left) < BigInt(right);
}

/** Returns the newer of two resourceVersions; the second one if their order is unknown. */
export function newerOf(left: string, right: string): string {
  return isOlder(right, left) ? left : right;
}

export function versionOf(object: unknown): string | undefined {
  const version = metadataOf(object).resourceVersion;
  return typeof version === "string" && version !== "" ? version : undefined;
}

const isNumber = (text: string) => /^[0-9]+$/.test(text);
