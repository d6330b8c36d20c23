/** A clock that stands still until a test moves it. */
import type { Clock, Timer } from "../../src/domain/clock.ts";

interface PendingTimer {
  readonly dueMs: number;
  readonly sequence: number;
  readonly callback: () => void;
}

/**
 * Time that stands still until a test moves it.
 *
 * Both clocks start apart, so that code which mixes them up is noticed. Timers fire in the order of their due time,
 * and timers of the same time in the order in which they were set. After each timer, promises settle before the next
 * one fires.
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

  /** How many timers are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires; `undefined` when none is set. */
  get nextTimerInMs(): number | undefined {
    const next = this.#nextTimer();
    return next === undefined ? undefined : next.dueMs - this.#elapsedMs;
  }

  /** Moves both clocks on and fires what falls due on the way, timers set on the way included. */
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

/** Lets every promise that can settle without I/O or a timer do so. */
export async function settlePromises(): Promise<void> {
  // Microtasks are emptied before each immediate; the second round is for those that an immediate itself has started.
  await new Promise<void>((resolve) => setImmediate(resolve));
  await new Promise<void>((resolve) => setImmediate(resolve));
}
