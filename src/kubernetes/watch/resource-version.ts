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
  const metadata = (object as { readonly metadata?: { readonly resourceVersion?: unknown } } | null | undefined)
    ?.metadata;
  const version = metadata?.resourceVersion;
  return typeof version === "string" && version !== "" ? version : undefined;
}

const isNumber = (text: string) => /^[0-9]+$/.test(text);
const withoutLeadingZeros = (digits: string) => digits.replace(/^0+(?=.)/, "");
