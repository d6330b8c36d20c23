/** Tests the comparison of resourceVersions. */
import { describe, expect, it } from "vitest";
import { isOlder, newerOf } from "../../../../src/kubernetes/http/objects.ts";

describe("resource versions", () => {
  it("are compared as numbers, of any length", () => {
    expect(isOlder("9", "10")).toBe(true);
    expect(isOlder("10", "9")).toBe(false);
    expect(isOlder("18446744073709551614", "18446744073709551615")).toBe(true);
    expect(isOlder("007", "8")).toBe(true);
  });

  it("that are no numbers → no order is known, so nothing is dropped for being old", () => {
    expect(isOlder("abc", "10")).toBe(false);
    expect(isOlder("10", "abc")).toBe(false);
    expect(newerOf("10", "abc")).toBe("abc");
  });

  it("newerOf → the larger", () => {
    expect(newerOf("10", "9")).toBe("10");
    expect(newerOf("9", "10")).toBe("10");
  });
});
