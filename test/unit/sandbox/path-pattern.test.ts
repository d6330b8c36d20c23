/** Tests the path patterns of faults. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { fitsPattern } from "../../../src/sandbox/http/parts/faults.ts";

test("any pattern, any path → what the regular expression of the same meaning says", () => {
  const piece = fc.constantFrom("a", "b", "/", "*", "**");
  const text = fc.array(fc.constantFrom("a", "b", "/"), { maxLength: 8 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), text, (pieces, path) => {
      const pattern = pieces.join("");
      const source = pattern.replace(/\*\*|\*/g, (stars) => (stars === "**" ? ".*" : "[^/]*"));
      expect(fitsPattern(pattern, path)).toBe(new RegExp(`^${source}$`).test(path));
    }),
    { numRuns: 2000 },
  );
});

test("as many wildcards as fit, on a path that almost fits → an answer, not a search without end", () => {
  expect(fitsPattern(`${"*a".repeat(500)}b`, "a".repeat(4000))).toBe(false);
  expect(fitsPattern(`${"**a".repeat(300)}b`, "a".repeat(4000))).toBe(false);
});
