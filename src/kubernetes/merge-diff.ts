/** A value of JSON; `undefined` as a member's value means that the member is absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

type JsonObject = { readonly [key: string]: Json | undefined };

/**
 * The JSON merge patch (RFC 7386) that turns one object into another: only what differs, `null` for what goes.
 *
 * Pure. Lists are replaced whole. `undefined` members count as absent on both sides.
 *
 * @returns `undefined` when nothing differs.
 */
export function diffForMerge(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = diffMember(before[key], after[key]);
    if (change !== undefined) {
      patch[key] = change;
    }
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Whether two values say the same; the order of members does not matter, and `undefined` members are absent. */
export function isSameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((item, index) => isSameJson(item, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    return diffForMerge(left, right) === undefined;
  }
  return left === right;
}

function diffMember(before: Json | undefined, after: Json | undefined): Json | undefined {
  if (after === undefined) {
    return before === undefined ? undefined : null;
  }
  if (isObject(before) && isObject(after)) {
    return diffForMerge(before, after);
  }
  return isSameJson(before, after) ? undefined : withoutUndefined(after);
}

/** In a merge patch an object in place of something else is merged into nothing, which is what it is. */
function withoutUndefined(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
