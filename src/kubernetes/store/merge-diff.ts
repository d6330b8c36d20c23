import { isSameStored } from "../../domain/same-stored.ts";

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

function diffMember(before: Json | undefined, after: Json | undefined): Json | undefined {
  if (after === undefined) {
    return before === undefined ? undefined : null;
  }
  if (isObject(before) && isObject(after)) {
    return diffForMerge(before, after);
  }
  return isSameStored(before, after) ? undefined : withoutUndefined(after);
}

/** The value as it is sent: members that are `undefined` are absent. */
function withoutUndefined(value: Json): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
