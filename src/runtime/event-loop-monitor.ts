/** Measures how late timers fire. */
import type { Clock, Timer } from "../domain/clock.ts";

interface EventLoopMonitorOptions {
  readonly clock: Clock;
  readonly onDelay: (seconds: number) => void;
}

/** The timer notices every longer stall of the event loop, and costs almost nothing. */
const sampleMs = 100;

/** Node's own histogram loses the interval of a scrape, or shows the past. @returns a function that ends it */
export function monitorEventLoop({ clock, onDelay }: EventLoopMonitorOptions): () => void {
  let timer: Timer | undefined;
  const tick = () => {
    const dueMs = clock.monotonicMs() + sampleMs;
    timer = clock.after(sampleMs, () => {
      onDelay(Math.max(0, clock.monotonicMs() - dueMs) / 1_000);
      tick();
    });
  };
  tick();
  return () => timer?.cancel();
}
