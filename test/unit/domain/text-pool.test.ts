/** Tests the text pool. */
import { describe, expect, it } from "vitest";
import { createTextPool } from "../../../src/domain/text-pool.ts";

describe("texts that many objects have in common", () => {
  it("the same text again → held once; no text → nothing held", () => {
    const pool = createTextPool(2);
    expect(["a", "b", "a", undefined].map((text) => pool.share(text))).toEqual(["a", "b", "a", undefined]);
    expect(pool.size).toBe(2);
  });

  it("more than the limit → begins anew, and texts from then on are held", () => {
    const pool = createTextPool(2);
    expect(["a", "b", "c", "c"].map((text) => pool.share(text))).toEqual(["a", "b", "c", "c"]);
    expect(pool.size).toBe(1);
  });
});
