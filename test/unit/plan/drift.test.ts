import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acknowledge, mayResend, resendDelayMs } from "../../../src/plan/drift.ts";
import { acknowledged, nowMs, spec, timeAt } from "./builders.ts";

const of = (attempts: number, unmatchedAttempts: number) => acknowledged(spec(), { attempts, unmatchedAttempts });

describe("delay before values are sent again", () => {
  it.each([
    ["first outside change", 1, 0, 0],
    ["matched without ever being sent", 0, 0, 0],
    ["sent once, never shown", 1, 1, 30_000],
    ["second outside change", 2, 0, 60_000],
    ["third outside change", 3, 0, 120_000],
    ["eighth outside change", 8, 0, 3_600_000],
    ["thousandth outside change", 1_000, 0, 3_600_000],
  ])("%s → %i attempts, %i unmatched: %i ms", (_state, attempts, unmatched, want) => {
    expect(resendDelayMs(of(attempts, unmatched))).toBe(want);
  });

  it("more attempts → never a shorter delay, never more than an hour", () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(5), (attempts, unmatched) => {
        const delayMs = resendDelayMs(of(attempts, unmatched));
        const next = resendDelayMs(of(attempts + 1, unmatched));
        return delayMs <= next && next <= 3_600_000;
      }),
    );
  });
});

describe("whether values are sent again", () => {
  const failedAt = (offsetMs: number) => [{ action: "apply_config", operationId: "op", time: timeAt(offsetMs) }];
  it.each([
    ["matched", 0, undefined, true],
    ["unmatched once", 1, undefined, true],
    ["unmatched twice", 2, undefined, false],
    ["unmatched twice, nothing failed", 2, [], false],
    ["unmatched twice, failed before", 2, failedAt(-60_001), false],
    ["unmatched twice, failed at that moment", 2, failedAt(-60_000), true],
    ["unmatched twice, failed since", 2, failedAt(-1), true],
  ])("%s → %s", (_state, unmatched, failures, want) => {
    expect(mayResend(of(2, unmatched), failures)).toBe(want);
  });
});

describe("acknowledgement", () => {
  const accepted = { generation: 2, hash: acknowledged(spec()).hash, fields: ["disabled"] };

  it("first → one attempt, not matched yet", () => {
    expect(acknowledge(undefined, accepted, nowMs)).toEqual({
      ...accepted,
      attempts: 1,
      unmatchedAttempts: 1,
      time: timeAt(0),
    });
  });

  it("the same values again → the streak goes on", () => {
    expect(acknowledge(of(3, 1), accepted, nowMs)).toMatchObject({ attempts: 4, unmatchedAttempts: 2 });
  });

  it("the same values again after two hours of quiet → a new streak", () => {
    const before = { ...of(3, 0), time: timeAt(-7_200_000) };
    expect(acknowledge(before, accepted, nowMs)).toMatchObject({ attempts: 1, unmatchedAttempts: 1 });
  });

  it("other values → a new streak", () => {
    expect(acknowledge(of(3, 2), { ...accepted, hash: "other" }, nowMs)).toMatchObject({
      attempts: 1,
      unmatchedAttempts: 1,
    });
  });
});
