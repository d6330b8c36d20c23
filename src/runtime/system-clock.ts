import type { Clock } from "../domain/clock.ts";

/** The longest delay of setTimeout, in milliseconds: with more than a signed 32-bit number it fires at once. */
const longestTimeoutMs = 2 ** 31 - 1;

/** The clock of the machine. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timeout = setTimeout(callback, Math.min(delayMs, longestTimeoutMs));
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
