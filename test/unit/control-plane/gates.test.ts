/** Tests the gates after 401 and 429, and the leader fence. */
import { describe, expect, test } from "vitest";
import { createCredentialGate, throttleGuard } from "../../../src/control-plane/call-guards.ts";
import { type CallGuard, type ControlPlane, guardCalls } from "../../../src/domain/control-plane.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../../../src/domain/control-plane-error.ts";
import { FakeClock, settlePromises } from "../../support/fake-clock.ts";
import { door, FakeControlPlane, project } from "./fake-control-plane.ts";

function failWith(reason: ControlPlaneReason, retryAfterMs?: number) {
  return () => Promise.reject(new ControlPlaneError(reason, "cannot", { effect: "NotApplied", retryAfterMs }));
}
const succeed = async () => undefined;

const guarded = (inner: ControlPlane, guard: CallGuard) => guardCalls(inner, { read: guard, write: guard });

/**
 * Makes one call.
 * @returns "ok", or the reason and the time to wait
 */
async function outcomeOf(gated: ControlPlane): Promise<string> {
  try {
    await gated.listEndpoints(project);
    return "ok";
  } catch (error) {
    const { reason, retryAfterMs, effect } = error as ControlPlaneError;
    expect(effect).toBe("NotApplied");
    return `${reason} ${retryAfterMs}`;
  }
}

function startCredentialGate() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const settings = { key: "fake-one" };
  const gated = guarded(inner, createCredentialGate({ clock, keys: { current: async () => settings.key } }).guard);
  return { clock, inner, settings, gated };
}

describe("credential gate", () => {
  test("accepted key → every call goes through, every method", async () => {
    const { inner, gated } = startCredentialGate();
    await gated.listEndpoints(project);
    await gated.getEndpoint(project, "e");
    await gated.listOperations(project, { limit: 1 });
    await gated.getOperation(project, "o");
    await gated.createEndpoint(project, { branchId: "b", type: "ReadOnly", name: "n" });
    await gated.updateEndpoint(project, "e", {});
    await gated.deleteEndpoint(project, "e");
    expect(inner.calls).toHaveLength(7);
    expect(gated.serviceUrl).toBe(inner.serviceUrl);
  });

  test("refused key → one probe after 5, 10, 20, 40, 60, 60 s, all others fail fast", async () => {
    const { clock, inner, gated } = startCredentialGate();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    for (const delayS of [5, 10, 20, 40, 60, 60]) {
      const before = inner.calls.length;
      await clock.advance(delayS * 1_000 - 1);
      expect(await outcomeOf(gated)).toBe("Unauthorized 1");
      expect(inner.calls.length).toBe(before);
      await clock.advance(1);
      await Promise.all(Array.from({ length: 100 }, () => outcomeOf(gated)));
      expect(inner.calls.length).toBe(before + 1);
    }
  });

  test("the probe succeeds → the gate is open", async () => {
    const { clock, inner, gated } = startCredentialGate();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    inner.beforeAnswer = succeed;
    await clock.advance(5_000);
    expect(await outcomeOf(gated)).toBe("ok");
    expect(await outcomeOf(gated)).toBe("ok");
  });

  test("the key is another one → one probe at once, whatever else waits; refused too → delays start over", async () => {
    const { clock, inner, settings, gated } = startCredentialGate();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    await clock.advance(5_000);
    await outcomeOf(gated);
    settings.key = "fake-two";
    await Promise.all(Array.from({ length: 50 }, () => outcomeOf(gated)));
    expect(inner.calls).toHaveLength(3);
    expect(await outcomeOf(gated)).toBe("Unauthorized 5000");
    settings.key = "fake-three";
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(gated)).toBe("ok");
    expect(await outcomeOf(gated)).toBe("ok");
  });

  test("the key is refused, another one comes → reported within a second, once; the source learns what was refused", async () => {
    const clock = new FakeClock();
    const inner = new FakeControlPlane();
    const state = { key: "fake-one", refused: [] as string[], news: 0 };
    const keys = { current: async () => state.key, refused: (key: string) => state.refused.push(key) };
    const gate = createCredentialGate({ clock, keys, onNewKey: () => (state.news += 1) });
    const gated = guarded(inner, gate.guard);
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state).toEqual({ key: "fake-one", refused: ["fake-one"], news: 0 });
    state.key = "fake-two";
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state.news).toBe(1);
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(gated)).toBe("ok");
    state.key = "fake-three";
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state.news, "an accepted key is not news").toBe(1);
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    gate.stop();
    state.key = "fake-four";
    await clock.advance(5_000);
    expect(state.news, "stopped").toBe(1);
  });

  test.each(["Unavailable", "Unreachable", "TimedOut", "ServerError", "Throttled", "UnreadableAnswer"] as const)(
    "the probe ends in %s → says nothing of the key: stays shut, next probe soon",
    async (reason) => {
      const { clock, inner, gated } = startCredentialGate();
      inner.beforeAnswer = failWith("Unauthorized");
      await outcomeOf(gated);
      inner.beforeAnswer = failWith(reason);
      await clock.advance(5_000);
      expect(await outcomeOf(gated)).toBe(`${reason} undefined`);
      expect(await outcomeOf(gated)).toBe("Unauthorized 5000");
    },
  );

  test.each(["Forbidden", "NotFound", "Conflict", "Rejected", "Locked", "Malformed"] as const)(
    "the probe ends in %s → the key was accepted: open",
    async (reason) => {
      const { clock, inner, gated } = startCredentialGate();
      inner.beforeAnswer = failWith("Unauthorized");
      await outcomeOf(gated);
      inner.beforeAnswer = failWith(reason);
      await clock.advance(5_000);
      await outcomeOf(gated);
      inner.beforeAnswer = succeed;
      expect(await outcomeOf(gated)).toBe("ok");
    },
  );

  test("calls sent before the first refusal end later, well or badly → change nothing", async () => {
    const { inner, gated } = startCredentialGate();
    const gate = door();
    inner.beforeAnswer = () => gate.passed;
    const earlier = [outcomeOf(gated), outcomeOf(gated)];
    await settlePromises();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(gated);
    gate.open();
    expect(await Promise.all(earlier)).toEqual(["ok", "ok"]);
    expect(await outcomeOf(gated)).toBe("Unauthorized 5000");
    expect(inner.calls).toHaveLength(3);
  });
});

function startThrottleGate() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const reported: string[] = [];
  const gated = guarded(inner, throttleGuard({ clock, observer: { throttled: (reason) => reported.push(reason) } }));
  return { clock, inner, reported, gated };
}

describe("throttle gate", () => {
  test("429 with a time → every caller fails fast with what remains of it, then goes through", async () => {
    const { clock, inner, reported, gated } = startThrottleGate();
    inner.beforeAnswer = failWith("Throttled", 7_000);
    expect(await outcomeOf(gated)).toBe("Throttled 7000");
    inner.beforeAnswer = succeed;
    await clock.advance(3_000);
    expect(await outcomeOf(gated)).toBe("Throttled 4000");
    await clock.advance(3_999);
    expect(await outcomeOf(gated)).toBe("Throttled 1");
    expect(inner.calls).toHaveLength(1);
    expect(reported).toEqual(["HeldBack", "HeldBack"]);
    await clock.advance(1);
    expect(await outcomeOf(gated)).toBe("ok");
  });

  test("429 without a time, again and again → pauses of 5, 10, 20, 40, 60, 60 s; a success starts over", async () => {
    const { clock, inner, gated } = startThrottleGate();
    inner.beforeAnswer = failWith("Throttled");
    for (const pauseS of [5, 10, 20, 40, 60, 60]) {
      expect(await outcomeOf(gated)).toBe(`Throttled ${pauseS * 1_000}`);
      await clock.advance(pauseS * 1_000);
    }
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(gated)).toBe("ok");
    inner.beforeAnswer = failWith("Throttled");
    expect(await outcomeOf(gated)).toBe("Throttled 5000");
  });

  test("a time of zero → taken for none", async () => {
    const { inner, gated } = startThrottleGate();
    inner.beforeAnswer = failWith("Throttled", 0);
    expect(await outcomeOf(gated)).toBe("Throttled 5000");
  });

  test("many 429 of one burst → the pause does not grow, the longest counts", async () => {
    const { inner, gated } = startThrottleGate();
    inner.beforeAnswer = failWith("Throttled");
    expect(await Promise.all([1, 2, 3].map(() => outcomeOf(gated)))).toEqual(Array(3).fill("Throttled 5000"));
  });

  test("other failures → pass unchanged and shut nothing", async () => {
    const { inner, gated } = startThrottleGate();
    inner.beforeAnswer = failWith("Unavailable", 9_000);
    expect(await outcomeOf(gated)).toBe("Unavailable 9000");
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(gated)).toBe("ok");
  });
});
