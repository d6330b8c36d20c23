/** Tests the guards that hold requests back after 401 and 429, and the leader fence. */
import { describe, expect, test } from "vitest";
import { createRefusedKeyGuard, throttleGuard } from "../../../src/control-plane/call-guards.ts";
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
async function outcomeOf(controlPlane: ControlPlane): Promise<string> {
  try {
    await controlPlane.listEndpoints(project);
    return "ok";
  } catch (error) {
    const { reason, retryAfterMs, effect } = error as ControlPlaneError;
    expect(effect).toBe("NotApplied");
    return `${reason} ${retryAfterMs}`;
  }
}

function startRefusedKeyGuard() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const settings = { key: "fake-one" };
  const keys = { current: async () => settings.key };
  const controlPlane = guarded(inner, createRefusedKeyGuard({ clock, keys }).guardFor(keys));
  return { clock, inner, settings, controlPlane };
}

describe("refused key guard", () => {
  test("accepted key → every call goes through, every method", async () => {
    const { inner, controlPlane } = startRefusedKeyGuard();
    await controlPlane.listEndpoints(project);
    await controlPlane.getEndpoint(project, "e");
    await controlPlane.listOperations(project, { limit: 1 });
    await controlPlane.getOperation(project, "o");
    await controlPlane.createEndpoint(project, { branchId: "b", type: "ReadOnly", name: "n" });
    await controlPlane.updateEndpoint(project, "e", {});
    await controlPlane.deleteEndpoint(project, "e");
    expect(inner.calls).toHaveLength(7);
    expect(controlPlane.serviceUrl).toBe(inner.serviceUrl);
  });

  test("refused key → one probe after 5, 10, 20, 40, 60, 60 s, all others fail fast", async () => {
    const { clock, inner, controlPlane } = startRefusedKeyGuard();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    for (const delayS of [5, 10, 20, 40, 60, 60]) {
      const before = inner.calls.length;
      await clock.advance(delayS * 1_000 - 1);
      expect(await outcomeOf(controlPlane)).toBe("Unauthorized 1");
      expect(inner.calls.length).toBe(before);
      await clock.advance(1);
      await Promise.all(Array.from({ length: 100 }, () => outcomeOf(controlPlane)));
      expect(inner.calls.length).toBe(before + 1);
    }
  });

  test("the probe succeeds → requests go through again", async () => {
    const { clock, inner, controlPlane } = startRefusedKeyGuard();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    inner.beforeAnswer = succeed;
    await clock.advance(5_000);
    expect(await outcomeOf(controlPlane)).toBe("ok");
    expect(await outcomeOf(controlPlane)).toBe("ok");
  });

  test("the key is another one → one probe at once, whatever else waits; refused too → delays start over", async () => {
    const { clock, inner, settings, controlPlane } = startRefusedKeyGuard();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    await clock.advance(5_000);
    await outcomeOf(controlPlane);
    settings.key = "fake-two";
    await Promise.all(Array.from({ length: 50 }, () => outcomeOf(controlPlane)));
    expect(inner.calls).toHaveLength(3);
    expect(await outcomeOf(controlPlane)).toBe("Unauthorized 5000");
    settings.key = "fake-three";
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(controlPlane)).toBe("ok");
    expect(await outcomeOf(controlPlane)).toBe("ok");
  });

  test("the key is refused, another one comes → reported within a second, once; the source learns what was refused", async () => {
    const clock = new FakeClock();
    const inner = new FakeControlPlane();
    const state = { key: "fake-one", refused: [] as string[], news: 0 };
    const keys = { current: async () => state.key, refused: (key: string) => state.refused.push(key) };
    const held = createRefusedKeyGuard({ clock, keys, onNewKey: () => (state.news += 1) });
    const controlPlane = guarded(inner, held.guardFor(keys));
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state).toEqual({ key: "fake-one", refused: ["fake-one"], news: 0 });
    state.key = "fake-two";
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state.news).toBe(1);
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(controlPlane)).toBe("ok");
    state.key = "fake-three";
    for (let second = 0; second < 10; second += 1) await clock.advance(1_000);
    expect(state.news, "an accepted key is not news").toBe(1);
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    held.stop();
    state.key = "fake-four";
    await clock.advance(5_000);
    expect(state.news, "stopped").toBe(1);
  });

  test.each(["Unavailable", "Unreachable", "TimedOut", "ServerError", "Throttled", "UnreadableAnswer"] as const)(
    "the probe ends in %s → says nothing of the key: stays shut, next probe soon",
    async (reason) => {
      const { clock, inner, controlPlane } = startRefusedKeyGuard();
      inner.beforeAnswer = failWith("Unauthorized");
      await outcomeOf(controlPlane);
      inner.beforeAnswer = failWith(reason);
      await clock.advance(5_000);
      expect(await outcomeOf(controlPlane)).toBe(`${reason} undefined`);
      expect(await outcomeOf(controlPlane)).toBe("Unauthorized 5000");
    },
  );

  test.each(["Forbidden", "NotFound", "Conflict", "Rejected", "Locked", "Malformed"] as const)(
    "the probe ends in %s → the key was accepted: open",
    async (reason) => {
      const { clock, inner, controlPlane } = startRefusedKeyGuard();
      inner.beforeAnswer = failWith("Unauthorized");
      await outcomeOf(controlPlane);
      inner.beforeAnswer = failWith(reason);
      await clock.advance(5_000);
      await outcomeOf(controlPlane);
      inner.beforeAnswer = succeed;
      expect(await outcomeOf(controlPlane)).toBe("ok");
    },
  );

  test("calls sent before the first refusal end later, well or badly → change nothing", async () => {
    const { inner, controlPlane } = startRefusedKeyGuard();
    const entrance = door();
    inner.beforeAnswer = () => entrance.passed;
    const earlier = [outcomeOf(controlPlane), outcomeOf(controlPlane)];
    await settlePromises();
    inner.beforeAnswer = failWith("Unauthorized");
    await outcomeOf(controlPlane);
    entrance.open();
    expect(await Promise.all(earlier)).toEqual(["ok", "ok"]);
    expect(await outcomeOf(controlPlane)).toBe("Unauthorized 5000");
    expect(inner.calls).toHaveLength(3);
  });
});

function startThrottleGuard() {
  const clock = new FakeClock();
  const inner = new FakeControlPlane();
  const reported: string[] = [];
  const controlPlane = guarded(
    inner,
    throttleGuard({ clock, observer: { throttled: (reason) => reported.push(reason) } }),
  );
  return { clock, inner, reported, controlPlane };
}

describe("throttle guard", () => {
  test("429 with a time → every caller fails fast with what remains of it, then goes through", async () => {
    const { clock, inner, reported, controlPlane } = startThrottleGuard();
    inner.beforeAnswer = failWith("Throttled", 7_000);
    expect(await outcomeOf(controlPlane)).toBe("Throttled 7000");
    inner.beforeAnswer = succeed;
    await clock.advance(3_000);
    expect(await outcomeOf(controlPlane)).toBe("Throttled 4000");
    await clock.advance(3_999);
    expect(await outcomeOf(controlPlane)).toBe("Throttled 1");
    expect(inner.calls).toHaveLength(1);
    expect(reported).toEqual(["HeldBack", "HeldBack"]);
    await clock.advance(1);
    expect(await outcomeOf(controlPlane)).toBe("ok");
  });

  test("429 without a time, again and again → pauses of 5, 10, 20, 40, 60, 60 s; a success starts over", async () => {
    const { clock, inner, controlPlane } = startThrottleGuard();
    inner.beforeAnswer = failWith("Throttled");
    for (const pauseS of [5, 10, 20, 40, 60, 60]) {
      expect(await outcomeOf(controlPlane)).toBe(`Throttled ${pauseS * 1_000}`);
      await clock.advance(pauseS * 1_000);
    }
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(controlPlane)).toBe("ok");
    inner.beforeAnswer = failWith("Throttled");
    expect(await outcomeOf(controlPlane)).toBe("Throttled 5000");
  });

  test("a time of zero → taken for none", async () => {
    const { inner, controlPlane } = startThrottleGuard();
    inner.beforeAnswer = failWith("Throttled", 0);
    expect(await outcomeOf(controlPlane)).toBe("Throttled 5000");
  });

  test("many 429 of one burst → the pause does not grow, the longest counts", async () => {
    const { inner, controlPlane } = startThrottleGuard();
    inner.beforeAnswer = failWith("Throttled");
    expect(await Promise.all([1, 2, 3].map(() => outcomeOf(controlPlane)))).toEqual(Array(3).fill("Throttled 5000"));
  });

  test("other failures → pass unchanged and shut nothing", async () => {
    const { inner, controlPlane } = startThrottleGuard();
    inner.beforeAnswer = failWith("Unavailable", 9_000);
    expect(await outcomeOf(controlPlane)).toBe("Unavailable 9000");
    inner.beforeAnswer = succeed;
    expect(await outcomeOf(controlPlane)).toBe("ok");
  });
});
