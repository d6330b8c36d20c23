/** A clock that runs faster than the machine's. */
import type { Clock } from "../../src/domain/clock.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";

/**
 * Returns a clock that runs `factor` times as fast as the machine's. It is for code with long times and real servers.
 */
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
