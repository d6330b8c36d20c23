/** Tests that texts of the control plane lose secrets and stay short. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cleanText } from "../../../src/control-plane/failure.ts";

/**
 * These random texts also contain halves of surrogate pairs. The library's own generator for such texts takes seconds
 * to start.
 */
const anyCodePoint = fc.nat(0x10_ff_ff).map((code) => String.fromCodePoint(code));

describe("cleanText", () => {
  test.each([
    ["branch not found", "branch not found"],
    ["project already has running conflicting operations", "project already has running conflicting operations"],
    ["endpoint ep-cool-dawn-123456 exists already", "endpoint ep-cool-dawn-123456 exists already"],
    ["the bearer of bad news", "the bearer of bad news"],
    ["  two\r\n lines\tand\u0000more ", "two lines and more"],
    ["a\u200bb\u202ec", "abc"],
    ["postgres://u:p@h/db is down", "postgres://[redacted]@h/db is down"],
    ["Authorization: Bearer abc.def.ghi", "Authorization: Bearer [redacted]"],
    ["request 3fa85f64-5717-4562-b3fc-2c963f66afa6 failed", "request [id] failed"],
    ["until 2026-11-20T10:00:00.123Z or so", "until [time] or so"],
    ["", ""],
  ])("%j → %j", (text, cleaned) => {
    expect(cleanText(text)).toBe(cleaned);
  });

  test("a key in use → gone, however short and wherever", () => {
    expect(cleanText("xkey1x key1", ["key1"])).toBe("x[redacted]x [redacted]");
    expect(cleanText("plain", [""])).toBe("plain");
  });

  test("a long text → cut, marked, without half a character", () => {
    expect(cleanText("word ".repeat(100), [], 20)).toHaveLength(20);
    expect(cleanText("word ".repeat(100), [], 20)).toMatch(/…$/);
    expect(cleanText(`${"é ".repeat(9)}😀😀`, [], 20).isWellFormed()).toBe(true);
  });

  test("any text with the key somewhere → one bounded, well-formed line without the key", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCodePoint, maxLength: 400 }),
        fc.string({ unit: anyCodePoint, maxLength: 50 }),
        (before, after) => {
          const cleaned = cleanText(`${before}obviously-fake-key${after}`, ["obviously-fake-key"]);
          expect(cleaned).not.toContain("obviously-fake-key");
          expect(cleaned).not.toMatch(/[\p{Cc}\p{Cf}]/u);
          expect(cleaned.length).toBeLessThanOrEqual(300);
          expect(cleaned.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each([
    ["one long word", "a".repeat(1e6)],
    ["letters and digits", "a1".repeat(5e5)],
    ["bearers", "bearer ".repeat(1e5)],
    ["addresses", "x://".repeat(2e5)],
    ["quotes", '"'.repeat(1e6)],
  ])("a hostile megabyte of %s → one bounded line, before the test's deadline", (_what, text) => {
    expect(cleanText(text).length).toBeLessThanOrEqual(300);
  });
});
