/** Tests the comparison of texts. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { unifiedDiff } from "../../../src/sandbox/http/parts/unified-diff.ts";

/** Applies a diff as `patch` does, without any leeway. */
function patched(before: string, diff: string): string {
  const old = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const lines: string[] = [];
  let at = 0;
  const [, ...hunks] = diff.split(/^(?=@@ )/m);
  for (const hunk of hunks) {
    const [head = "", ...body] = hunk.replace(/\n$/, "").split("\n");
    const [, first = "", count = "1"] = /^@@ -(\d+)(?:,(\d+))? /.exec(head) ?? [];
    const start = count === "0" ? Number(first) : Number(first) - 1;
    lines.push(...old.slice(at, start));
    at = start;
    for (const line of body) {
      if (line[0] !== "+") expect(line.slice(1)).toBe(old[at++]);
      if (line[0] !== "-") lines.push(line.slice(1));
    }
    expect(at).toBe(start + Number(count));
  }
  return [...lines, ...old.slice(at)].map((line) => `${line}\n`).join("");
}

test("any two texts → the diff leads from one to the other; equal texts → none", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 40 })
    .map((lines) => lines.map((line) => `${line}\n`).join(""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const diff = unifiedDiff({ name: "db", before, after });
      if (before === after) expect(diff).toBe("");
      else expect(patched(before, diff)).toBe(after);
    }),
    { numRuns: 300 },
  );
});

test("one line of many changes → one hunk with three lines of context", () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}`);
  const [before, after] = [lines, lines.with(9, "other")].map((all) => `${all.join("\n")}\n`);
  expect(unifiedDiff({ name: "db", before: before ?? "", after: after ?? "" })).toBe(
    "--- a/db\n+++ b/db\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+other\n line 11\n line 12\n line 13\n",
  );
});
