import type { Clock, Timer } from "../domain/clock.ts";

/** How late timers fire is how long everything else waits. */
export interface EventLoopMonitor {
  start(): void;
  stop(): void;
}

/** How a monitor is made. */
export interface EventLoopMonitorOptions {
  readonly clock: Clock;
  /** Is told ten times a second how late a timer fired, in seconds, 0 or more. Must not throw. */
  readonly onDelay: (seconds: number) => void;
}

/** What holds the event loop up for longer is always seen; ten wake-ups a second cost nothing to speak of. */
const tickMs = 100;

/**
 * Measures the event loop by the monotonic clock.
 *
 * Node's own histogram is not used: emptied at a scrape it forgets the very interval the scrape falls into, and never
 * emptied it says nothing of the present.
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
