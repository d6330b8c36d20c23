/** Tests the event loop monitor. */
import { expect, test } from "vitest";
import { monitorEventLoop } from "../../../src/runtime/event-loop-monitor.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** A clock whose timers fire too late by this time. */
function lateClock(lateMs: () => number) {
  const clock = new FakeClock();
  const after = (delayMs: number, callback: () => void) => clock.after(delayMs + lateMs(), callback);
  return { clock, late: { nowMs: () => clock.nowMs(), monotonicMs: () => clock.monotonicMs(), after } };
}

test("timers that fire in time, then late → each delay reported in seconds, never below 0", async () => {
  const lateness = [0, 250, 0];
  const { clock, late } = lateClock(() => lateness.shift() ?? 0);
  const delays: number[] = [];
  monitorEventLoop({ clock: late, onDelay: (seconds) => delays.push(seconds) });
  await clock.advance(550);
  expect(delays).toEqual([0, 0.25, 0]);
});

test("stopped → no timer is left, nothing more is reported", async () => {
  const { clock, late } = lateClock(() => 0);
  let reported = 0;
  const stop = monitorEventLoop({
    clock: late,
    onDelay: () => {
      reported += 1;
    },
  });
  await clock.advance(100);
  stop();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance(1_000);
  expect(reported).toBe(1);
});
