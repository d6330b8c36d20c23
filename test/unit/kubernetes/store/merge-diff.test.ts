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
  const table: readonly { name: string; before: JsonObject; after: JsonObject; want: JsonObject | undefined }[] = [
    {
      name: "equal → nothing",
      before: { a: 1, b: { c: [1, { d: 2 }] } },
      after: { b: { c: [1, { d: 2 }] }, a: 1 },
      want: undefined,
    },
    { name: "a new member → itself", before: {}, after: { a: { b: 1 } }, want: { a: { b: 1 } } },
    { name: "a missing member → null", before: { a: 1, b: 2 }, after: { b: 2 }, want: { a: null } },
    { name: "an undefined member → null, as if missing", before: { a: 1 }, after: { a: undefined }, want: { a: null } },
    { name: "undefined on both sides → nothing", before: { a: undefined }, after: { b: undefined }, want: undefined },
    {
      name: "a nested change → only the path to it",
      before: { a: { b: 1, c: 2 } },
      after: { a: { b: 1, c: 3 } },
      want: { a: { c: 3 } },
    },
    {
      name: "a nested removal → null inside",
      before: { a: { b: 1, c: 2 } },
      after: { a: { b: 1 } },
      want: { a: { c: null } },
    },
    { name: "a changed list → the whole list", before: { a: [1, 2] }, after: { a: [1, 3] }, want: { a: [1, 3] } },
    { name: "a list become empty → the empty list", before: { a: [1] }, after: { a: [] }, want: { a: [] } },
    {
      name: "an object in place of a word → the object",
      before: { a: "x" },
      after: { a: { b: 1 } },
      want: { a: { b: 1 } },
    },
    { name: "a word in place of an object → the word", before: { a: { b: 1 } }, after: { a: "x" }, want: { a: "x" } },
    {
      name: "undefined inside a list's item → is not sent",
      before: {},
      after: { a: [{ b: 1, c: undefined }] },
      want: { a: [{ b: 1 }] },
    },
  ];
  for (const { name, before, after, want } of table) {
    it(name, () => {
      expect(diffForMerge(before, after)).toEqual(want);
    });
  }

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
