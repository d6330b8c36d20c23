import type { Clock, Timer } from "../domain/clock.ts";

/** Measures how late timers fire: everything else waits as long. */
export interface EventLoopMonitor {
  start(): void;
  stop(): void;
}

/** How a monitor is made. */
export interface EventLoopMonitorOptions {
  readonly clock: Clock;
  /** Called ten times a second with the lateness of a timer in seconds, 0 or more. Must not throw. */
  readonly onDelay: (seconds: number) => void;
}

/** A longer stall of the event loop is always measured. Ten timers a second cost almost nothing. */
const tickMs = 100;

/**
 * Measures the event loop by the monotonic clock.
 *
 * Node's own histogram is not used: reset at each scrape it loses the interval of the scrape, and without a reset it does not
 * show the present.
 */
export function createEventLoopMonitor({ clock, onDelay }: EventLoopMonitorOptions): EventLoopMonitor {
  let timer: Timer | undefined;
  const tick = () => {
    const dueMs = clock.monotonicMs() + tickMs;
    timer = clock.after(tickMs, () => {
      onDelay(Math.max(0, clock.monotonicMs() - dueMs) / 1_000);
      tick();
    });
  };
  return {
    start: tick,
    stop: () => timer?.cancel(),
  };
}
