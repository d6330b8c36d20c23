/** JSON with sorted keys and without `undefined`: the same values give the same text whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isPlainObject(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  );
}

/**
 * Whether two values would be the same once stored, as `canonicalJson` would say it: every pass asks this of a whole
 * status, so no text is made.
 *
 * @param a what JSON can hold, and `undefined`, which is not stored.
 */
export function isSameStored(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameStored(item, b[index]));
  }
  if (isPlainObject(a) && isPlainObject(b)) {
    return hasAllOf(a, b) && Object.keys(b).every((name) => b[name] === undefined || a[name] !== undefined);
  }
  return a === b;
}

function hasAllOf(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  return Object.keys(a).every((name) => isSameStored(a[name], b[name]));
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
