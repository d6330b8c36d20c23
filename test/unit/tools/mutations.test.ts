/** Tests that every weakening of `npm run mutations` still has its line in the operator. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { mutations } from "../../../tools/mutations/mutation-list.ts";

const source = fileURLToPath(new URL("../../../src/", import.meta.url));

test.each(mutations.map(({ name, ...rest }) => [name, rest] as const))(
  "%s → its text is in the file exactly once",
  (_name, { file, find, replace }) => {
    expect(readFileSync(`${source}${file}`, "utf8").split(find)).toHaveLength(2);
    expect(replace).not.toBe(find);
  },
);

test("the weakenings → at least 30, each with a name of its own", () => {
  expect(mutations.length).toBeGreaterThanOrEqual(30);
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length);
});
