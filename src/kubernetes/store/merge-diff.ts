/** Computes the patch that turns one object into another. */
import { isSameStored } from "../../domain/same-stored.ts";

/** A value of JSON. A member with the value `undefined` counts as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

type JsonObject = { readonly [key: string]: Json | undefined };

/**
 * Returns the JSON merge patch (RFC 7386) that turns one object into another. It holds only differences, and `null` for
 * members that are removed.
 * Pure. Lists are replaced as a whole. `undefined` members count as absent on both sides, and the patch may hold some:
 * they are not sent.
 * @returns `undefined` if nothing differs.
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

function diffMember(before: Json | undefined, after: Json | undefined): Json | undefined {
  if (after === undefined) {
    return before === undefined ? undefined : null;
  }
  if (isObject(before) && isObject(after)) {
    return diffForMerge(before, after);
  }
  return isSameStored(before, after) ? undefined : after;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
