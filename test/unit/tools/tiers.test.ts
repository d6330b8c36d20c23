/** Tests what the tiers leave behind. */
import { describe, expect, test } from "vitest";
import { leavesAll, type Tier, tiers } from "../../../tools/test/tiers.ts";

const tier: Tier = {
  ...{ name: "some", queue: "First", assets: [], testTimeoutMs: 1, workers: 1, deadlineMs: 1 },
  leaves: { logs: ["a mark"] },
};
const counts = { passed: 3, failed: 0, skipped: 0 };

describe("leavesAll", () => {
  test.each([
    ["all of it ran → yes", tier, counts, true],
    ["nothing of it ran → no", tier, { ...counts, passed: 0 }, false],
    ["it leaves nothing → no", { ...tier, leaves: undefined }, counts, false],
    ["some skipped, and it wants tools that may be missing → no", wanting(tier), { ...counts, skipped: 1 }, false],
    ["none skipped, and it wants tools → yes", wanting(tier), counts, true],
    ["some skipped, and it wants no tools → yes", tier, { ...counts, skipped: 1 }, true],
  ])("%s", (_name, given, seen, want) => {
    expect(leavesAll(given as Tier, seen)).toBe(want);
  });
});

test("what two tiers leave → has no mark in common: what one leaves does not stand in for the other's", () => {
  const marks = tiers.flatMap(({ leaves = {} }) => [...new Set(Object.values(leaves).flat())]);
  expect(new Set(marks).size).toBe(marks.length);
});

test("a tier of low priority → it needs no program that others use, and leaves nothing to search", () => {
  const beside = tiers.filter(({ queue }) => queue === "LowPriority");
  expect(beside.map(({ name }) => name)).toEqual(["simulation"]);
  expect(beside.flatMap(({ assets, wantedAssets = [], leaves }) => [...assets, ...wantedAssets, leaves])).toEqual([
    undefined,
  ]);
});

function wanting(plain: Tier): Tier {
  return { ...plain, wantedAssets: ["prometheus"] };
}
