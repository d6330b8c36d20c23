/** Tests the header `Retry-After`. */
import { describe, expect, test } from "vitest";
import { parseRetryAfter } from "../../../src/http/exchange.ts";

describe("parseRetryAfter", () => {
  test.each([
    ["5", 5_000],
    [" 5 ", 5_000],
    ["0", 0],
    ["1.5", 1_500],
    ["86400", 60_000],
    ["9".repeat(400), 60_000],
    ["Fri, 20 Nov 2026 10:00:30 GMT", undefined],
    ["", undefined],
    [undefined, undefined],
    ["-5", undefined],
    ["soon", undefined],
    ["5 minutes", undefined],
  ])("%j → %j", (header, want) => {
    expect(parseRetryAfter(header)).toBe(want);
  });
});
