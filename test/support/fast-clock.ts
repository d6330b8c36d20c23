import type { Clock } from "../../src/domain/clock.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";

/** The machine's clock, so many times as fast: for code with long times against servers that are real. */
export function createFastClock(factor: number): Clock {
  const startMs = systemClock.nowMs();
  const start = systemClock.monotonicMs();
  const elapsedMs = () => (systemClock.monotonicMs() - start) * factor;
  return {
    nowMs: () => startMs + elapsedMs(),
    monotonicMs: elapsedMs,
    after: (delayMs, callback) => systemClock.after(delayMs / factor, callback),
  };
}
