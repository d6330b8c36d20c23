/** Tests the branch tree and the words of the sandbox's page. */
import { describe, expect, test } from "vitest";
import type { BranchRecord, EndpointRecord } from "../../../src/sandbox/engine/records.ts";
// @ts-expect-error the page's own files are plain JavaScript
import { spanText } from "../../../src/sandbox/page/app/format.js";
import { branchTree } from "../../../src/sandbox/page/branch-tree.ts";

const branch = (id: string, parentId?: string) => ({ id, parentId, name: `name of ${id}` }) as BranchRecord;
const endpoint = (id: string, branchId: string) => ({ id, branchId }) as EndpointRecord;

describe("the branch tree", () => {
  const titles = (lines: ReturnType<typeof branchTree>) =>
    lines.map((line) => `${"  ".repeat(line.depth)}${line.kind === "Branch" ? line.branch.id : line.endpoint.id}`);
  const branches = [branch("main"), branch("staging", "main"), branch("other"), branch("preview", "staging")];
  const endpoints = [endpoint("ep-main", "main"), endpoint("ep-preview", "preview")];

  test("→ children below their parents, endpoints below their branch, siblings in their order", () => {
    expect(titles(branchTree(branches, endpoints, ""))).toEqual([
      "main",
      "ep-main",
      "  staging",
      "    preview",
      "    ep-preview",
      "other",
    ]);
  });

  test("a search → what matches with the branches above; a branch that matches with its endpoints", () => {
    expect(titles(branchTree(branches, endpoints, "ep-preview"))).toEqual([
      "main",
      "  staging",
      "    preview",
      "    ep-preview",
    ]);
    expect(titles(branchTree(branches, endpoints, "name of main"))).toEqual(["main", "ep-main"]);
    expect(branchTree(branches, endpoints, "nothing")).toEqual([]);
  });

  test("branches that are each other's parents, and a parent that is missing → no endless walk", () => {
    expect(titles(branchTree([branch("a", "b"), branch("b", "a"), branch("c", "gone")], [], ""))).toEqual(["c"]);
  });
});

test.each([
  [850, "850 ms"],
  [3249, "3.2 s"],
  [250_000, "4 min 10 s"],
  [300_000, "5 min"],
  [7_500_000, "2 h 5 min"],
  [273_600_000, "3 d 4 h"],
])("a span of %d ms → %s", (milliseconds, text) => {
  expect(spanText(milliseconds)).toBe(text);
});
