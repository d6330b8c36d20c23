/** A clock for an operator that waits for an answer as long as a test holds it. */
import type { Clock } from "../../src/domain/clock.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";

/** The time limits of the operator's calls: of writes and of reads. */
const callLimitsMs: readonly number[] = [8_000, 10_000];
/** Longer than any test. */
const neverMs = 3_600_000;

/**
 * Returns the delay of a timer for an operator whose calls reach no time limit. So it does not matter how long a slow
 * machine takes between the moment at which a test holds an answer and the moment at which it lets the answer go.
 */
export function patientDelayMs(delayMs: number): number {
  return callLimitsMs.includes(delayMs) ? neverMs : delayMs;
}

/** The machine's clock, but no call reaches its time limit. */
export const patientClock: Clock = {
  ...systemClock,
  after: (delayMs, callback) => systemClock.after(patientDelayMs(delayMs), callback),
};
