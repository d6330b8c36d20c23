/** Tests which files a tier has. */
import { expect, test } from "vitest";
import { hasTestFiles } from "../../../tools/test/run-tier.ts";

test("a filter that is part of no path → no test files", async () => {
  expect(await hasTestFiles({ name: "unit" }, ["no/such/file"])).toBe(false);
  expect(await hasTestFiles({ name: "unit" }, ["tools/run-tier"])).toBe(true);
});
