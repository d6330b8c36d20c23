/** Tests what stands around the calls of a control plane: one key, the request budget, the waits after 401 and 429. */
import { describe, expect, it, test } from "vitest";
import { holdAfterRefusedKey, holdAfterThrottling, withBudget } from "../../../src/control-plane/around-calls.ts";
import type { Caller } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { FakeCalls, outcomeOf, read, write } from "./fake-calls.ts";

function withRefusals() {
  const clock = new FakeClock();
  const calls = new FakeCalls();
  const state = { key: "fake-one", refused: [] as string[], asked: 0 };
  const current = async () => {
    state.asked += 1;
    return state.key;
  };
  const keys = { current, refused: (key: string) => state.refused.push(key) };
  const held = holdAfterRefusedKey(calls.call, { clock, keys });
  const ask = () => outcomeOf(held.call(read, state.key));
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) await clock.advance(1_000);
  };
  return { clock, calls, state, ask, pass, stop: held.stop };
}

describe("after a 401", () => {
  test("one probe after 5, 10, 20, 40, 60, 60 s, all others fail fast", async () => {
    const { clock, calls, ask } = withRefusals();
    calls.failWith("Unauthorized");
    await ask();
    for (const delayS of [5, 10, 20, 40, 60, 60]) {
      const before = calls.sent.length;
      await clock.advance(delayS * 1_000 - 1);
      expect(await ask()).toBe("Unauthorized 1");
      expect(calls.sent.length).toBe(before);
      await clock.advance(1);
      await Promise.all(Array.from({ length: 100 }, ask));
      expect(calls.sent.length).toBe(before + 1);
    }
  });

  test("the key is another one → one probe at once, whatever else waits; refused too → delays start over", async () => {
    const { clock, calls, state, ask } = withRefusals();
    calls.failWith("Unauthorized");
    await ask();
    await clock.advance(5_000);
    await ask();
    state.key = "fake-two";
    await Promise.all(Array.from({ length: 50 }, ask));
    expect(calls.sent).toHaveLength(3);
    expect(await ask()).toBe("Unauthorized 5000");
    state.key = "fake-three";
    calls.succeed();
    expect(await ask()).toBe("ok");
    expect(await ask()).toBe("ok");
  });

  test("the source learns which key was refused, and is asked each second until a key is accepted", async () => {
    const { calls, state, ask, pass, stop } = withRefusals();
    calls.failWith("Unauthorized");
    await ask();
    await pass(10);
    expect(state).toEqual({ key: "fake-one", refused: ["fake-one"], asked: 10 });
    state.key = "fake-two";
    calls.succeed();
    expect(await ask()).toBe("ok");
    await pass(10);
    expect(state.asked, "an accepted key is not asked for again").toBe(11);
    calls.failWith("Unauthorized");
    await ask();
    stop();
    await pass(5);
    expect(state.asked, "stopped").toBe(11);
  });

  const unclear = ["Unavailable", "Unreachable", "TimedOut", "ServerError", "Throttled", "UnreadableAnswer"] as const;
  const accepted = ["Forbidden", "NotFound", "Conflict", "Rejected", "Locked", "Malformed"] as const;
  test.each<[ControlPlaneReason, string]>([
    ...unclear.map((reason): [ControlPlaneReason, string] => [reason, "Unauthorized 5000"]),
    ...accepted.map((reason): [ControlPlaneReason, string] => [reason, "ok"]),
  ])("the probe ends in %s → the next call: %s", async (reason, want) => {
    const { clock, calls, ask } = withRefusals();
    calls.failWith("Unauthorized");
    await ask();
    calls.failWith(reason);
    await clock.advance(5_000);
    expect(await ask()).toBe(`${reason} undefined`);
    calls.succeed();
    expect(await ask()).toBe(want);
  });

  test("calls that were sent before the first refusal succeed later → change nothing", async () => {
    const { calls, ask } = withRefusals();
    const { promise, resolve } = Promise.withResolvers<void>();
    calls.beforeAnswer = () => promise;
    const earlier = [ask(), ask()];
    await settlePromises();
    calls.failWith("Unauthorized");
    await ask();
    resolve();
    expect(await Promise.all(earlier)).toEqual(["ok", "ok"]);
    expect(await ask()).toBe("Unauthorized 5000");
    expect(calls.sent).toHaveLength(3);
  });
});

describe("after a 429", () => {
  function withThrottling() {
    const clock = new FakeClock();
    const calls = new FakeCalls();
    const reported: string[] = [];
    const observer = { callBegan() {}, throttled: (reason: string) => void reported.push(reason) };
    const call = holdAfterThrottling(calls.call, { clock, observer });
    return { clock, calls, reported, ask: () => outcomeOf(call(read, "key")) };
  }

  test("with a time → every caller fails fast with what remains of it, then goes through", async () => {
    const { clock, calls, reported, ask } = withThrottling();
    calls.failWith("Throttled", 7_000);
    expect(await ask()).toBe("Throttled 7000");
    calls.succeed();
    await clock.advance(3_000);
    expect(await ask()).toBe("Throttled 4000");
    await clock.advance(3_999);
    expect(await ask()).toBe("Throttled 1");
    expect(calls.sent).toHaveLength(1);
    expect(reported).toEqual(["HeldBack", "HeldBack"]);
    await clock.advance(1);
    expect(await ask()).toBe("ok");
  });

  test.each([undefined, 0])("with the time %s, again and again → a pause of 15 s each", async (retryAfterMs) => {
    const { clock, calls, ask } = withThrottling();
    calls.failWith("Throttled", retryAfterMs);
    for (let pauses = 0; pauses < 3; pauses += 1) {
      expect(await ask()).toBe("Throttled 15000");
      await clock.advance(15_000);
    }
    calls.succeed();
    expect(await ask()).toBe("ok");
  });

  test("other failures → pass unchanged and hold nothing", async () => {
    const { calls, ask } = withThrottling();
    calls.failWith("Unavailable", 9_000);
    expect(await ask()).toBe("Unavailable 9000");
    calls.succeed();
    expect(await ask()).toBe("ok");
  });
});

describe("the calls of one reconcile", () => {
  function ofReconcile(take: (caller: Caller) => Promise<void> = async () => undefined) {
    const taken: Caller[] = [];
    const calls = new FakeCalls();
    const caller: Caller = { urgency: "Background", project: "p" };
    const budget = { take: (given: Caller) => take(given).then(() => void taken.push(given)) };
    const { call, reserve } = withBudget((request) => calls.call(request, "key"), budget, caller);
    return { taken, calls, caller, reserve, ask: (request = read) => outcomeOf(call(request)) };
  }

  it("every request → asks the budget first, as this caller", async () => {
    const { taken, calls, caller, ask } = ofReconcile();
    expect([await ask(read), await ask(write)]).toEqual(["ok", "ok"]);
    expect(taken).toEqual([caller, caller]);
    expect(calls.sent.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });

  it("a change is reserved → taken as urgent, and the change takes nothing more; the next one does", async () => {
    const { taken, ask, reserve } = ofReconcile();
    await reserve();
    await ask(write);
    expect(taken).toEqual([{ urgency: "Urgent", project: "p" }]);
    await ask(write);
    expect(taken).toHaveLength(2);
  });

  it("a reserved change, and then a read → the read takes its own", async () => {
    const { taken, ask, reserve } = ofReconcile();
    await reserve();
    await ask(read);
    expect(taken).toHaveLength(2);
  });

  it("the budget refuses → nothing is sent", async () => {
    const refusal = new ControlPlaneError("Throttled", "used up", { effect: "NotApplied" });
    const { calls, ask } = ofReconcile(() => Promise.reject(refusal));
    expect(await ask(write)).toBe("Throttled undefined");
    expect(calls.sent).toEqual([]);
  });
});
