/** Tests when a process counts as stuck. */
import { describe, expect, it } from "vitest";
import { LivenessWatchdog, livenessLimits } from "../../../src/runtime/liveness-watchdog.ts";
import { FakeClock } from "../../support/fake-clock.ts";

function start() {
  const clock = new FakeClock();
  const stats = { depth: 0, working: 0, longestRunningSeconds: 0 };
  const watchdog = new LivenessWatchdog({
    clock,
    queueStats: () => stats,
    hasRoom: () => stats.working < 4,
  });
  watchdog.start();
  const problems = () => watchdog.checks.flatMap(({ name, problem }) => (problem() === undefined ? [] : [name]));
  return { clock, stats, watchdog, problems };
}

describe("the watchdog", () => {
  it("a process at rest, and one that works hard → well", async () => {
    const { clock, stats, problems } = start();
    await clock.advance(120_000);
    expect(problems()).toEqual([]);
    Object.assign(stats, { depth: 5_000, working: 4, longestRunningSeconds: 30 });
    await clock.advance(600_000);
    expect(problems()).toEqual([]);
  });

  it("a reconcile that hangs → the queue is stuck", () => {
    const { stats, problems } = start();
    stats.longestRunningSeconds = livenessLimits.longestReconcileMs / 1_000;
    expect(problems()).toEqual([]);
    stats.longestRunningSeconds += 1;
    expect(problems()).toEqual(["work-queue"]);
  });

  it("keys wait although a reconcile could begin → stuck once it has lasted, well again once it moves", async () => {
    const { clock, stats, problems } = start();
    Object.assign(stats, { depth: 1, working: 3 });
    await clock.advance(livenessLimits.idleQueueMs);
    expect(problems()).toEqual([]);
    await clock.advance(2_000);
    expect(problems()).toEqual(["work-queue"]);
    stats.working = 4;
    await clock.advance(1_000);
    expect(problems()).toEqual([]);
  });

  it("stopped → ticks no more and complains of nothing", async () => {
    const { clock, watchdog, problems } = start();
    watchdog.stop();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(1e6);
    expect(problems()).toEqual([]);
  });
});
