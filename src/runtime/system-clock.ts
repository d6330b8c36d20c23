import type { Clock } from "../domain/clock.ts";

/** A longer delay does not fit into 32 bits, and setTimeout would fire at once. */
const longestTimeoutMs = 2 ** 31 - 1;

/** The clock of the machine. A running timer does not keep the process alive. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timeout = setTimeout(callback, Math.min(delayMs, longestTimeoutMs));
    timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
