/** The order of members does not matter, and `undefined` members are not stored. Makes no text, for speed. */
export function isSameStored(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) {
    return a === b;
  }
  const isSame = (name: string) => isSameStored(memberOf(a, name), memberOf(b, name));
  const isOnlyInB = (name: string) => !Object.hasOwn(a, name) && b[name] !== undefined;
  return Object.keys(a).every(isSame) && !Object.keys(b).some(isOnlyInB);
}

type Members = Readonly<Record<string, unknown>>;

/** Reads an own member of a stored object, which may have any name, even `constructor`. */
function memberOf(object: Members, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null;
}
