import { describe, expect, it } from "vitest";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import type { Operation } from "../../../src/domain/operation.ts";
import type { Outcome } from "../../../src/plan/outcome.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { nextLookMs, retryDelayMs } from "../../../src/reconcile/requeue.ts";
import { endpoint, operation, owned, policy } from "../plan/builders.ts";

const delayAfter = (
  reason: ControlPlaneReason,
  count: number,
  change: { forMs?: number; retryAfterMs?: number } = {},
) =>
  retryDelayMs(
    new ControlPlaneError(reason, "no", { effect: "NotApplied", retryAfterMs: change.retryAfterMs }),
    { count, forMs: change.forMs ?? 0 },
    policy,
  );

describe("a failed call is tried again", () => {
  const rows: readonly (readonly [ControlPlaneReason, number, number, number])[] = [
    ["Locked", 250, 500, 5_000],
    ["Unauthorized", 2_000, 4_000, 60_000],
    ["Throttled", 1_000, 2_000, 60_000],
    ["Conflict", 1_000, 2_000, 60_000],
    ["Unavailable", 1_000, 2_000, 60_000],
    ["ServerError", 1_000, 2_000, 60_000],
    ["Unreachable", 1_000, 2_000, 60_000],
    ["TimedOut", 1_000, 2_000, 60_000],
    ["ConnectionLost", 1_000, 2_000, 60_000],
    ["UnreadableAnswer", 1_000, 2_000, 60_000],
    ["NotFound", 5_000, 10_000, 60_000],
    ["Rejected", 5_000, 10_000, 60_000],
    ["Forbidden", 600_000, 600_000, 600_000],
    ["Malformed", 600_000, 600_000, 600_000],
  ];
  it.each(rows)("%s → after %i ms, then %i ms, in the end every %i ms", (reason, first, second, last) => {
    expect([1, 2, 1_000].map((count) => delayAfter(reason, count))).toEqual([first, second, last]);
  });

  it.each(["NotFound", "Rejected"] as const)("%s for more than five minutes → on resync", (reason) => {
    expect(delayAfter(reason, 9, { forMs: 299_999 })).toBe(60_000);
    expect(delayAfter(reason, 9, { forMs: 300_000 })).toBe(600_000);
  });

  it.each(["Throttled", "Unavailable"] as const)("%s that names a delay → not before it", (reason) => {
    expect(delayAfter(reason, 1, { retryAfterMs: 120_000 })).toBe(120_000);
    expect(delayAfter(reason, 3, { retryAfterMs: 10 })).toBe(4_000);
  });
});

describe("a pass that did not fail is followed by the next", () => {
  const look = (plan: Plan, outcome: Outcome = { kind: "Done" }) =>
    nextLookMs({ local: owned(), observation: owned(), plan, outcome }, policy);
  const settled: Plan = { kind: "Settled", unverifiable: [] };

  it("after an effect → at once", () => {
    expect(look({ kind: "AddFinalizer" })).toBe(0);
    expect(
      look({ kind: "MoveEndpoint", endpointId: "e", branchId: "b" }, { kind: "Accepted", mutation: undefined }),
    ).toBe(0);
  });

  const move: Plan = { kind: "MoveEndpoint", endpointId: "e", branchId: "b" };
  const accepted = (...operations: readonly Operation[]): Outcome => ({
    kind: "Accepted",
    mutation: { endpoint: endpoint(), operations },
  });

  it("the service is at work on a change → when the youngest operation is worth a look", () => {
    expect(look(move, accepted(operation({ status: "finished" }), operation({ status: "running" })))).toBe(250);
  });

  it("a change is done already, or was a deletion, which shows at once → at once", () => {
    expect(look(move, accepted(operation({ status: "finished" })))).toBe(0);
    const deletion: Plan = { kind: "DeleteEndpoint", endpointId: "e", cause: "Deletion" };
    expect(look(deletion, accepted(operation({ status: "running" })))).toBe(0);
  });

  it("while waiting → when the plan says", () => {
    expect(look({ kind: "Wait", reason: "Deleting", message: "m", requeueAfterMs: 42 })).toBe(42);
    expect(look({ kind: "Wait", reason: "Paused", message: "m", requeueAfterMs: undefined })).toBeUndefined();
  });

  it("settled or stalled → at resync", () => {
    expect(look(settled)).toBeUndefined();
    expect(look({ kind: "Stall", reason: "EndpointExists", message: "m" })).toBeUndefined();
  });

  it("in the lane → the first soon, the others as a safety net", () => {
    expect(look(settled, { kind: "Deferred", waitedMs: 0, stillMs: 0, isFirst: true })).toBe(500);
    expect(look(settled, { kind: "Deferred", waitedMs: 0, stillMs: 0, isFirst: false })).toBe(20_000);
  });
});
