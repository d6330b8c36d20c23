/**
 * Whether two values of JSON would be the same once stored: the order of members does not matter, and a member that is
 * `undefined` is not stored. Every pass asks this of a whole status, so no text is made of it.
 */
export function isSameStored(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameStored(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    return hasAllOf(a, b) && Object.keys(b).every((name) => b[name] === undefined || a[name] !== undefined);
  }
  return a === b;
}

function hasAllOf(a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(a).every((name) => isSameStored(a[name], b[name]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
