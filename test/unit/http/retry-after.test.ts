/** Tests the header `Retry-After`. */
import { describe, expect, test } from "vitest";
import { parseRetryAfter } from "../../../src/http/exchange.ts";

const date = "Fri, 20 Nov 2026 10:00:00 GMT";

describe("parseRetryAfter", () => {
  test.each([
    ["5", 5_000],
    [" 5 ", 5_000],
    ["0", 0],
    ["1.5", 1_500],
    ["86400", 60_000],
    ["9".repeat(400), 60_000],
    ["Fri, 20 Nov 2026 10:00:30 GMT", 30_000],
    ["Fri, 20 Nov 2026 09:00:00 GMT", 0],
    ["Sat, 20 Nov 2027 10:00:00 GMT", 60_000],
    ["", undefined],
    [undefined, undefined],
    ["-5", undefined],
    ["soon", undefined],
    ["Fri, soon", undefined],
    ["5 minutes", undefined],
  ])("%j → %j", (header, want) => {
    expect(parseRetryAfter(header, date)).toBe(want);
  });

  test.each([[undefined], ["yesterday"]])(
    "a date beside the Date header %j → one minute, seconds as given",
    (unreadable) => {
      expect(parseRetryAfter("Fri, 20 Nov 2026 10:00:30 GMT", unreadable)).toBe(60_000);
      expect(parseRetryAfter("5", unreadable)).toBe(5_000);
    },
  );
});
