/** Tests that every weakening of `npm run mutations` still has its place in the operator. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { mutations, weakened } from "../../../tools/mutations/mutation-list.ts";

const source = fileURLToPath(new URL("../../../src/", import.meta.url));

test.each(mutations)("$rule → $file has its place", (mutation) => {
  const text = readFileSync(`${source}${mutation.file}`, "utf8");
  expect([undefined, text]).not.toContain(weakened(text, mutation));
});
