/** A clock that stands still until a test moves it. */
import type { Clock, Timer } from "../../src/domain/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/**
 * Time that stands still until a test moves it. The two clocks have different starts, so that a test notices code that
 * mixes them up. Timers fire in the order of their due time; timers of the same time fire in the order in which they
 * were set. After each timer, promises settle before the next one fires.
 */
export class FakeClock implements Clock {
  readonly #startNowMs: number;
  #elapsedMs = 0;
  #sequence = 0;
  /** The timers that are set; the last one fires first. */
  readonly #pending: PendingTimer[] = [];

  /** @param startNowMs epoch milliseconds of the start. @default 2026-01-01T00:00:00Z */
  constructor(startNowMs: number = Date.UTC(2026, 0, 1)) {
    this.#startNowMs = startNowMs;
  }

  nowMs(): number {
    return this.#startNowMs + this.#elapsedMs;
  }

  monotonicMs(): number {
    return this.#elapsedMs + 1_000;
  }

  after(delayMs: number, callback: () => void): Timer {
    this.#sequence += 1;
    const timer = { dueMs: this.#elapsedMs + Math.max(0, delayMs), sequence: this.#sequence, callback };
    this.#pending.splice(this.#placeOf(timer), 0, timer);
    return {
      cancel: () => {
        const place = this.#placeOf(timer);
        if (this.#pending[place] === timer) this.#pending.splice(place, 1);
      },
    };
  }

  /** The number of timers that are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending.length;
  }

  /** Milliseconds until the next timer fires; `undefined`: none is set. */
  get nextTimerInMs(): number | undefined {
    const next = this.#pending.at(-1);
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs;
  }

  /** Moves both clocks, and fires the timers that become due, including timers that are set meanwhile. */
  async advance(durationMs: number): Promise<void> {
    const targetMs = this.#elapsedMs + durationMs;
    await settlePromises();
    for (let next = this.#pending.at(-1); next !== undefined && next.dueMs <= targetMs; next = this.#pending.at(-1)) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#pending.pop();
      next.callback();
      await settlePromises();
    }
    this.#elapsedMs = targetMs;
  }

  /** Finds the place of a timer by binary search, because some tests set thousands. */
  #placeOf({ dueMs, sequence }: PendingTimer): number {
    let [start, end] = [0, this.#pending.length];
    while (start < end) {
      const middle = (start + end) >>> 1;
      const other = this.#pending[middle] as PendingTimer;
      const isLater = other.dueMs > dueMs || (other.dueMs === dueMs && other.sequence > sequence);
      if (isLater) start = middle + 1;
      else end = middle;
    }
    return start;
  }
}

/** Lets all promises settle that need no I/O and no timer. */
export async function settlePromises(): Promise<void> {
  // Node runs all microtasks before each immediate. The second round is for microtasks that an immediate has started.
  await new Promise<void>((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => setImmediate(resolve));
}
