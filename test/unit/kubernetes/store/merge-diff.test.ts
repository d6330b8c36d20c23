/** Tests merge patches with random objects. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isSameStored } from "../../../../src/domain/same-stored.ts";
import { diffForMerge } from "../../../../src/kubernetes/store/kind-store.ts";
import type { Json } from "../../../../src/kubernetes/store/resource-kinds.ts";

type JsonObject = { readonly [key: string]: Json | undefined };

/** RFC 7386, section 2, written again without the code under test. */
function mergePatch(target: Json | undefined, patch: Json | undefined): Json | undefined {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const result: Record<string, Json | undefined> = isObject ? { ...(target as JsonObject) } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}

describe("the merge diff", () => {
  it.each<[string, JsonObject, JsonObject, JsonObject | undefined]>([
    ["an undefined member → null, as if missing", { a: 1 }, { a: undefined }, { a: null }],
    ["undefined on both sides → nothing", { a: undefined }, { b: undefined }, undefined],
    ["undefined inside a list's item → is not sent", {}, { a: [{ b: 1, c: undefined }] }, { a: [{ b: 1 }] }],
    ["a nested change → only the path to it", { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  ])("%s", (_, before, after, want) => {
    expect(diffForMerge(before, after)).toEqual(want);
  });

  it("any two objects → applying the diff to the one gives the other", () => {
    const leaf = fc.oneof(fc.integer({ max: 3, min: 0 }), fc.boolean(), fc.constantFrom("a", "b"));
    const { object } = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie("value"), { maxLength: 2 }), tie("object")),
      object: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
    }));
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch = diffForMerge(before, after);
        expect(patch === undefined ? before : mergePatch(before, patch as Json)).toEqual(after);
        expect(patch === undefined).toBe(isSameStored(before, after));
      }),
      { seed: 20_260_101 },
    );
  });
});
