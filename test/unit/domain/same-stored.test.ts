/** Tests the comparison of stored values. */
import { describe, expect, it } from "vitest";
import { isSameStored } from "../../../src/domain/same-stored.ts";
import { canonicalJson } from "../../../src/kinds/endpoint/desired-endpoint.ts";

const values: readonly unknown[] = [
  undefined,
  null,
  true,
  0,
  1,
  "",
  "a",
  [],
  [1],
  [1, 2],
  [2, 1],
  {},
  { a: undefined },
  { a: 1 },
  { a: 1, b: undefined },
  { a: null },
  { a: 1, b: 2 },
  { b: 2, a: 1 },
  { a: { b: [1, { c: "x" }] } },
  { a: { b: [1, { c: "x", d: undefined }] } },
  { a: { b: [1, { c: "y" }] } },
  { a: [] },
  { a: {} },
  { 0: 1 },
  { constructor: 1 },
  { toString: "x" },
];

describe("values as they are stored", () => {
  it("the order of keys, and what is undefined → make no difference", () => {
    expect(canonicalJson({ b: [{ d: 1, c: undefined }], a: 2 })).toBe('{"a":2,"b":[{"d":1}]}');
    expect(isSameStored({ b: [{ d: 1, c: undefined }], a: 2 }, { a: 2, b: [{ d: 1 }] })).toBe(true);
  });

  it.each(values.flatMap((a) => values.map((b) => [a, b])))("%j and %j → the same if their texts are", (a, b) => {
    expect(isSameStored(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
  });
});
