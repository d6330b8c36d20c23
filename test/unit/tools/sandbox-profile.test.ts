/** Tests the choice of the sandbox's profile in tests. */
import { expect, test } from "vitest";
import { defaultSandboxProfile } from "../../support/sandbox-profile.ts";

test("SANDBOX_PROFILE names the profile of tests that state none; absent → seed, unknown → reported", () => {
  expect(defaultSandboxProfile({})).toBe("seed");
  expect(defaultSandboxProfile({ SANDBOX_PROFILE: "public" })).toBe("public");
  expect(() => defaultSandboxProfile({ SANDBOX_PROFILE: "privat" })).toThrow("SANDBOX_PROFILE: must be one of");
});
