/** Measures for how long the event loop is blocked. */
import type { Clock, Timer } from "../domain/clock.ts";

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
 * Measures how late timers fire, with the monotonic clock. All other work of the process is delayed by the same time.
 * Node's own histogram is not used. If it is reset at each scrape, it loses the interval of the scrape; without a reset
 * it does not show the present.
 * @returns a function that ends the measurement
 */
export function monitorEventLoop({ clock, onDelay }: EventLoopMonitorOptions): () => void {
  let timer: Timer | undefined;
  const tick = () => {
    const dueMs = clock.monotonicMs() + tickMs;
    timer = clock.after(tickMs, () => {
      onDelay(Math.max(0, clock.monotonicMs() - dueMs) / 1_000);
      tick();
    });
  };
  tick();
  return () => timer?.cancel();
}
