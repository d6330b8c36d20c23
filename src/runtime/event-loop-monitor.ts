import type { Clock, Timer } from "../domain/clock.ts";

/** Measures how late timers fire. All other work of the process waits as long. */
export interface EventLoopMonitor {
  start(): void;
  stop(): void;
}

/** The options of a monitor. */
export interface EventLoopMonitorOptions {
  readonly clock: Clock;
  /** Called ten times a second with the lateness of a timer in seconds, 0 or more. Must not throw. */
  readonly onDelay: (seconds: number) => void;
}

/**
 * The interval of the timer, in milliseconds. It notices every longer stall of the event loop, and costs almost
 * nothing.
 */
const tickMs = 100;

/**
 * Measures the event loop with the monotonic clock.
 * Node's own histogram is not used. If it is reset at each scrape, it loses the interval of the scrape; without a reset
 * it does not show the present.
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
