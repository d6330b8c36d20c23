/** Tests the request budget. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestBudget } from "../../../src/control-plane/request-budget.ts";
import type { Caller, Urgency } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const urgent = (): Caller => ({ urgency: "Urgent", project: "p" });
const background = (project = "p"): Caller => ({ urgency: "Background", project });

interface Sent {
  readonly label: string;
  readonly urgency: Urgency;
  readonly atMs: number;
}

function start(limits: { perMinute?: number; perSecond?: number; maxWaitMs?: number } = {}) {
  const clock = new FakeClock();
  const reported: string[] = [];
  const budget = new RequestBudget({
    clock,
    requestsPerMinute: limits.perMinute ?? 700,
    requestsPerSecond: limits.perSecond ?? 40,
    ...(limits.maxWaitMs === undefined ? {} : { maxWaitMs: limits.maxWaitMs }),
    observer: {
      throttled: (reason) => void reported.push(reason),
      budgetWaited: (urgency, seconds) => void reported.push(`${urgency} ${seconds}`),
    },
  });
  const sent: Sent[] = [];
  const errors: unknown[] = [];
  const send = (caller: Caller, label = "") =>
    void budget.take(caller).then(
      () => sent.push({ label, urgency: caller.urgency, atMs: clock.monotonicMs() }),
      (error: unknown) => errors.push(error),
    );
  return { clock, budget, reported, sent, errors, send };
}

/** Returns the largest number of these ascending times within a window of this length. The end of the window does not belong to it. */
function mostWithin(timesMs: readonly number[], windowMs: number): number {
  let [most, first] = [0, 0];
  for (const [index, ms] of timesMs.entries()) {
    while ((timesMs[first] ?? ms) <= ms - windowMs) first += 1;
    most = Math.max(most, index + 1 - first);
  }
  return most;
}

describe("the limits", () => {
  it("a restart right after a minute of full use → the new process keeps the same minute within the limit", async () => {
    const first = start();
    await first.clock.advance(60_000);
    for (let index = 0; index < 2_000; index += 1) first.send(urgent());
    await first.clock.advance(20_000);
    const second = start();
    for (let index = 0; index < 2_000; index += 1) second.send(urgent());
    await second.clock.advance(40_000);
    expect(first.sent.length + second.sent.length).toBeLessThanOrEqual(700);
  });

  it("any limits, any times of requests → never more in any window, background at most half", async () => {
    const limits = fc.record({
      perMinute: fc.integer({ min: 10, max: 3_000 }),
      perSecond: fc.integer({ min: 1, max: 60 }),
    });
    const bursts = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 20_000 }), urgent: fc.nat(80), background: fc.nat(80) }),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(limits, bursts, async ({ perMinute, perSecond }, steps) => {
        const { clock, sent, send } = start({ perMinute, perSecond });
        for (const step of steps) {
          await clock.advance(step.afterMs);
          for (let index = 0; index < step.urgent; index += 1) send(urgent());
          for (let index = 0; index < step.background; index += 1) send(background());
        }
        await clock.advance(30_000);
        const times = sent.map(({ atMs }) => atMs);
        const ofBackground = sent.filter(({ urgency }) => urgency === "Background").map(({ atMs }) => atMs);
        expect(mostWithin(times, 1_000)).toBeLessThanOrEqual(perSecond);
        expect(mostWithin(times, 60_000)).toBeLessThanOrEqual(perMinute);
        expect(mostWithin(ofBackground, 60_000)).toBeLessThanOrEqual(Math.ceil(perMinute / 2));
      }),
      { numRuns: 60 },
    );
  });

  it("only background requests → half of the minute; pollsPerMinute says how many polls that are", async () => {
    const { clock, budget, sent, send } = start();
    for (let index = 0; index < 1_000; index += 1) send(background());
    await clock.advance(120_000);
    expect(
      mostWithin(
        sent.map(({ atMs }) => atMs),
        60_000,
      ),
    ).toBeLessThanOrEqual(350);
    expect(sent.length).toBeGreaterThan(650);
    expect(budget.pollsPerMinute * 2).toBeLessThanOrEqual(350);
    expect(budget.pollsPerMinute).toBeGreaterThan(160);
  });
});

describe("the order", () => {
  it("an urgent request behind 500 background ones → is next", async () => {
    const { clock, sent, send } = start();
    for (let index = 0; index < 500; index += 1) send(background());
    await clock.advance(5_000);
    const before = sent.length;
    send(urgent(), "edit");
    await clock.advance(200);
    expect(sent[before]?.label).toBe("edit");
  });

  it("urgent requests without end → a background request now and then", async () => {
    const { clock, sent, send } = start();
    for (let index = 0; index < 500; index += 1) send(urgent());
    send(background(), "poll");
    await clock.advance(3_000);
    expect(sent.findIndex(({ label }) => label === "poll")).toBe(16);
  });
});

describe("waiting", () => {
  it("longer than allowed → Throttled, not applied, with the time to wait; counted; no timer is left of it", async () => {
    const { clock, sent, errors, reported, send } = start({ perMinute: 10, perSecond: 1, maxWaitMs: 30_000 });
    for (let index = 0; index < 8; index += 1) send(urgent());
    await clock.advance(30_000);
    expect([sent.length, errors.length]).toEqual([4, 4]);
    expect(errors[0]).toBeInstanceOf(ControlPlaneError);
    expect(errors[0]).toMatchObject({ reason: "Throttled", effect: "NotApplied", retryAfterMs: expect.any(Number) });
    expect(reported.filter((each) => each === "BudgetUsedUp")).toHaveLength(4);
    expect(reported.filter((each) => each === "Urgent 30")).toHaveLength(4);
    await clock.advance(30_000);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a poll that waits longer than allowed → put off, and not counted as throttled", async () => {
    const { clock, errors, reported, send } = start({ perMinute: 10, perSecond: 1, maxWaitMs: 30_000 });
    for (let index = 0; index < 20; index += 1) send(background());
    await clock.advance(30_000);
    expect(new Set(errors.map((error) => (error as Error).name))).toEqual(new Set(["PutOffError"]));
    expect(reported).not.toContain("BudgetUsedUp");
  });

  it("a project is made urgent → its polls go with the edits, and so do their later requests; others stay", async () => {
    const { clock, sent, send, budget } = start({ perMinute: 60, perSecond: 1, maxWaitMs: 30_000 });
    const poll = background("edited");
    for (let index = 0; index < 40; index += 1) send(background("other"));
    send(poll, "edited, in parallel");
    send(poll, "edited");
    budget.makeUrgent("edited");
    budget.makeUrgent("unknown");
    await clock.advance(4_000);
    expect(sent.slice(0, 2).map(({ label }) => label)).toEqual(["edited, in parallel", "edited"]);
    const before = sent.length;
    send(poll, "edited, later");
    await clock.advance(10_000);
    expect(sent[before]?.label).toBe("edited, later");
    expect(sent.length).toBeGreaterThan(before + 1);
  });

  it("closed → every waiting request and every later one is refused as by the leader fence, and no timer is left", async () => {
    const { clock, sent, errors, send, budget } = start({ perMinute: 10, perSecond: 1 });
    for (const caller of [urgent(), background(), background("other")]) send(caller);
    budget.close();
    send(urgent());
    await clock.advance(60_000);
    expect(sent).toEqual([]);
    expect(errors.map((error) => (error as Error).name)).toEqual(Array(4).fill("LeaderFenceError"));
    expect(clock.pendingTimers).toBe(0);
  });
});
