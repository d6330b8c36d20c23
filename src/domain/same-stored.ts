/** The order of members does not matter, and `undefined` members are not stored. Makes no text, for speed. */
export function isSameStored(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isSameStored(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    return hasAllOf(a, b) && hasNoMore(a, b);
  }
  return a === b;
}

type Members = Readonly<Record<string, unknown>>;

function hasAllOf(a: Members, b: Members): boolean {
  return Object.keys(a).every((name) => isSameStored(a[name], memberOf(b, name)));
}

function hasNoMore(a: Members, b: Members): boolean {
  return Object.keys(b).every((name) => b[name] === undefined || memberOf(a, name) !== undefined);
}

/** Reads an own member of a stored object, which may have any name, even `constructor`. */
function memberOf(object: Members, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
