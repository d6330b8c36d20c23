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
  readonly #pending = new Set<PendingTimer>();

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
    this.#pending.add(timer);
    return { cancel: () => void this.#pending.delete(timer) };
  }

  /** The number of timers that are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires; `undefined`: none is set. */
  get nextTimerInMs(): number | undefined {
    const next = this.#nextTimer();
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs;
  }

  /** Moves both clocks, and fires the timers that become due, including timers that are set meanwhile. */
  async advance(durationMs: number): Promise<void> {
    const targetMs = this.#elapsedMs + durationMs;
    await settlePromises();
    for (let next = this.#nextTimer(); next !== undefined && next.dueMs <= targetMs; next = this.#nextTimer()) {
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueMs);
      this.#pending.delete(next);
      next.callback();
      await settlePromises();
    }
    this.#elapsedMs = targetMs;
  }

  #nextTimer(): PendingTimer | undefined {
    let first: PendingTimer | undefined;
    for (const timer of this.#pending) {
      const isEarlier =
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.sequence < first.sequence);
      first = isEarlier ? timer : first;
    }
    return first;
  }
}

/** Lets all promises settle that need no I/O and no timer. */
export async function settlePromises(): Promise<void> {
  // Node runs all microtasks before each immediate. The second round is for microtasks that an immediate has started.
  await new Promise<void>((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => setImmediate(resolve));
}
