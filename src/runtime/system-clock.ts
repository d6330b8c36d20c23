/** The machine's clock, behind the port `Clock`. */
import type { Clock } from "../domain/clock.ts";

/**
 * The longest delay of setTimeout, in milliseconds. A longer delay is cut to this: it does not fit into 32 bits, and
 * would fire at once.
 */
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
