import { expect, test } from "vitest";
import { hasTestFiles } from "../../../tools/test/run-tier.ts";
import { tiers } from "../../../tools/test/tiers.ts";

test.each(tiers.map(({ name }) => name))(
  "tier %s → its folder has tests, so that it cannot be left out unseen",
  async (name) => {
    expect(await hasTestFiles({ name }, [])).toBe(true);
  },
);

test("a tier whose folder is missing → an error, not an empty tier", async () => {
  await expect(hasTestFiles({ name: "missing" }, [])).rejects.toThrow("ENOENT");
});

test("a filter that is part of no path → no test files", async () => {
  expect(await hasTestFiles({ name: "unit" }, ["no/such/file"])).toBe(false);
  expect(await hasTestFiles({ name: "unit" }, ["tools/run-tier"])).toBe(true);
});
