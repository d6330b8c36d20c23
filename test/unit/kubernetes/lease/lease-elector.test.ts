/** Tests the election of a leader. */
import { describe, expect, it } from "vitest";
import type { LeaseClient } from "../../../../src/kubernetes/lease/lease-client.ts";
import { LeaseElector } from "../../../../src/kubernetes/lease/lease-elector.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { quietLogger } from "../../../support/quiet-logger.ts";
import { type CallFate, FakeLease } from "./fake-lease.ts";

const effectMs = 8_000;

function world() {
  const clock = new FakeClock();
  const lease = new FakeLease(clock);
  return { clock, lease };
}

interface ProcessOptions {
  readonly fate?: (call: "read" | "write") => CallFate;
  readonly mayLead?: () => boolean;
  readonly client?: LeaseClient;
}

function process({ clock, lease }: ReturnType<typeof world>, identity: string, options: ProcessOptions = {}) {
  const reported: string[] = [];
  const elector = new LeaseElector({
    client: options.client ?? lease.client(options.fate),
    identity,
    clock,
    logger: quietLogger,
    mayLead: options.mayLead ?? (() => true),
    onLeading: () => reported.push("leading"),
    onLost: (why) => reported.push(`lost: ${why}`),
  });
  elector.start();
  return { elector, reported, may: (timeoutMs = effectMs) => elector.mayStartEffect(timeoutMs) };
}

/** A process that leads. */
async function leading(options: ProcessOptions = {}) {
  const here = world();
  const a = process(here, "a", options);
  await here.clock.advance(0);
  return { here, a };
}

/** The stored Lease of another process. */
const heldBy = (holder: string, change: { readonly durationMs?: number; readonly uid?: string } = {}) => ({
  uid: "u",
  resourceVersion: "0",
  holder,
  durationMs: 15_000,
  transitions: 3,
  renewTimeMs: 0,
  ...change,
});

describe("taking the lease", () => {
  it("a cache that is not complete → does not take it; once it is, at once", async () => {
    const here = world();
    let mayLead = false;
    const a = process(here, "a", { mayLead: () => mayLead });
    await here.clock.advance(60_000);
    expect([a.reported, here.lease.stored]).toEqual([[], undefined]);
    mayLead = true;
    a.elector.nudge();
    await here.clock.advance(0);
    expect(a.reported).toEqual(["leading"]);
  });

  it.each([
    ["died → taken over when its lease", 15_000, 15_000],
    ["has a longer lease than ours → its own counts, when it", 60_000, 60_000],
    ["has a Lease of 0 ms → ours counts: its next renewal may be under way, until the Lease", 0, 15_000],
    ["has a Lease of 1 s → ours counts, when the Lease", 1_000, 15_000],
  ])("a holder that %s has been seen unchanged for its time, not sooner", async (_, durationMs, untilMs) => {
    const here = world();
    here.lease.stored = heldBy("dead", { durationMs });
    const b = process(here, "b");
    await here.clock.advance(untilMs - 1);
    expect(b.reported).toEqual([]);
    await here.clock.advance(1);
    expect(b.reported).toEqual(["leading"]);
    expect(here.lease.stored).toMatchObject({ holder: "b", transitions: 4 });
  });

  it("the Lease was deleted under its holder → a standby waits as if it stood, the holder makes a new one", async () => {
    let isHung = false;
    const { here, a } = await leading({ fate: () => (isHung ? "Hangs" : "Answered") });
    const b = process(here, "b");
    await here.clock.advance(1_000);
    here.lease.delete();
    await here.clock.advance(5_000);
    expect([a.may(), b.may(0)]).toEqual([true, false]);
    isHung = true;
    here.lease.delete();
    for (let second = 0; second < 20; second += 1) {
      await here.clock.advance(1_000);
      expect([a.may(0), b.may(0)]).not.toEqual([true, true]);
    }
    expect(b.may()).toBe(true);
  });

  it("the answer to the very first write was lost → leads by its next attempt", async () => {
    const here = world();
    let writes = 0;
    const fate = (call: "read" | "write"): CallFate => (call === "write" && ++writes === 1 ? "AnswerLost" : "Answered");
    const a = process(here, "a", { fate });
    await here.clock.advance(0);
    expect(a.may(0), "no replica knows yet").toBe(false);
    await here.clock.advance(10_000);
    expect(a.may()).toBe(true);
  });

  it("the answer to the take-over came when it was too old → not a leader by that one", async () => {
    const here = world();
    const client = here.lease.client();
    const gate = Promise.withResolvers<void>();
    const slow: typeof client = { ...client, write: async (...call) => gate.promise.then(() => client.write(...call)) };
    const { elector, reported } = process(here, "a", { client: slow });
    await here.clock.advance(20_000);
    gate.resolve();
    await here.clock.advance(0);
    expect(here.lease.holders, "written once more, and that counts").toEqual(["a", "a"]);
    expect([reported, elector.mayStartEffect(effectMs)]).toEqual([["leading"], true]);
  });
});

describe("the leader fence", () => {
  it("renewals fail → given only while the lease covers the call, counted from the last renewal that was sent", async () => {
    let fate: CallFate = "Answered";
    const { here, a } = await leading({ fate: () => fate });
    fate = "NotApplied";
    await here.clock.advance(7_000);
    expect([a.may(8_000), a.may(8_001)]).toEqual([true, false]);
    await here.clock.advance(1);
    expect([a.may(8_000), a.may(7_999)]).toEqual([false, true]);
  });

  it("answers that take their time → counted from when the renewal was sent, not from its answer", async () => {
    const here = world();
    const client = here.lease.client();
    const late: typeof client = {
      ...client,
      async write(...call) {
        const stored = await client.write(...call);
        await new Promise<void>((resolve) => here.clock.after(1_500, resolve));
        return stored;
      },
    };
    const a = process(here, "a", { client: late });
    await here.clock.advance(1_500);
    expect(a.reported).toEqual(["leading"]);
    expect([a.may(13_500), a.may(13_501)]).toEqual([true, false]);
  });

  it("a renewal whose answer is lost → no success: the leader fence closes no later; no loss: the operator goes on as leader", async () => {
    let fate: CallFate = "Answered";
    const { here, a } = await leading({ fate: (call) => (call === "write" ? fate : "Answered") });
    fate = "AnswerLost";
    await here.clock.advance(7_001);
    expect(here.lease.holders.length, "it did arrive").toBeGreaterThan(1);
    expect(a.may(8_000)).toBe(false);
    fate = "Answered";
    await here.clock.advance(3_000);
    expect(a.may(8_000)).toBe(true);
    expect(a.reported).toEqual(["leading"]);
  });

  it("never renewed again → given up at the deadline, before another replica may act", async () => {
    for (const fate of ["NotApplied", "AnswerLost", "Hangs"] as const) {
      const here = world();
      let now: CallFate = "Answered";
      const a = process(here, "a", { fate: () => now });
      await here.clock.advance(0);
      const b = process(here, "b");
      await here.clock.advance(2_500);
      now = fate;
      const events: string[] = [];
      for (let step = 0; step < 300; step += 1) {
        await here.clock.advance(100);
        expect([a.may(0), b.may(0)]).not.toEqual([true, true]);
        if (events.length === 0 && a.reported.length === 2) events.push(`lost after ${step / 10}`);
        if (events.length === 1 && b.may(0)) events.push("taken over");
      }
      expect(events, fate).toEqual([expect.stringMatching(/^lost/), "taken over"]);
      expect(a.reported[1]).toBe("lost: the lease could not be renewed for 10000 ms");
    }
  });

  it("another replica holds it → lost at once, and never taken back", async () => {
    const { here, a } = await leading();
    here.lease.stored = heldBy("thief", { uid: here.lease.stored?.uid ?? "" });
    await here.clock.advance(2_400);
    expect(a.reported).toEqual(["leading", "lost: the lease is held by thief"]);
    expect(a.may(0)).toBe(false);
    here.lease.delete();
    await here.clock.advance(120_000);
    expect(a.reported).toHaveLength(2);
    expect(here.lease.stored).toBeUndefined();
  });
});

describe("handing over", () => {
  it("released after a renewal whose answer was lost → read, and emptied all the same", async () => {
    let isLossy = false;
    const { here, a } = await leading({ fate: (call) => (isLossy && call === "write" ? "AnswerLost" : "Answered") });
    isLossy = true;
    await here.clock.advance(2_400);
    const released = a.elector.release(4_000);
    isLossy = false;
    expect(await released).toBe(true);
    expect(here.lease.stored?.holder).toBe("");
  });

  it("another replica has it by then → it keeps the lease", async () => {
    const { here, a } = await leading();
    here.lease.stored = heldBy("b", { uid: here.lease.stored?.uid ?? "" });
    expect(await a.elector.release(4_000)).toBe(true);
    expect(here.lease.stored.holder).toBe("b");
  });

  it("the API server does not answer → given up in time", async () => {
    let fate: CallFate = "Answered";
    const { here, a } = await leading({ fate: () => fate });
    fate = "Hangs";
    const released = a.elector.release(4_000);
    await here.clock.advance(4_001);
    expect(await released).toBe(false);
    expect(here.clock.pendingTimers).toBe(0);
  });

  it("stopped without a release, and a standby that is released → the Lease stays as it is", async () => {
    const { here, a } = await leading();
    const b = process(here, "b");
    await here.clock.advance(1_000);
    expect(await b.elector.release(4_000)).toBe(true);
    await a.elector.stop();
    expect(a.may(0)).toBe(false);
    expect(here.lease.stored?.holder).toBe("a");
    await here.clock.advance(60_000);
    expect(here.clock.pendingTimers).toBe(0);
  });
});
