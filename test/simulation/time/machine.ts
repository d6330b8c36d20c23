/** A machine of a run, with its own clock. */
import type { Clock } from "../ports.ts";
import type { Owner, VirtualTime } from "./virtual-time.ts";

/** The true time 0 is this moment, in epoch milliseconds. */
export const epochMs: number = Date.UTC(2026, 5, 1);

/** How a machine's clock differs from true time. */
export interface ClockError {
  /** By how many milliseconds the wall clock is ahead; negative: behind. */
  readonly offsetMs: number;
  /** How many milliseconds it counts in one true millisecond. */
  readonly rate: number;
}

/** A clock that is right. */
export const rightClock: ClockError = { offsetMs: 0, rate: 1 };

/** A machine with its own clock. Processes start and end on it. A pause stops all of them. */
export class Machine {
  readonly name: string;
  readonly #time: VirtualTime;
  readonly #rate: number;
  readonly #offsetMs: number;
  pausedUntilMs = 0;

  constructor(name: string, time: VirtualTime, { offsetMs, rate }: ClockError = rightClock) {
    this.name = name;
    this.#time = time;
    this.#offsetMs = offsetMs;
    this.#rate = rate;
  }

  /** Stops everything on the machine for this time. Its clocks go on. */
  pause(durationMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.#time.nowMs() + durationMs);
  }

  wallMs(): number {
    return Math.floor(epochMs + this.#offsetMs + this.#time.nowMs() * this.#rate);
  }

  /** Returns the clocks and timers of a process on this machine. */
  clockOf(owner: Owner): Clock {
    const time = this.#time;
    return {
      nowMs: () => this.wallMs(),
      // The monotonic clock has another start than the wall clock, so that a test notices code that mixes them up.
      monotonicMs: () => time.nowMs() * this.#rate + 5_000,
      after: (delayMs, callback) => ({
        cancel: time.after(Math.max(0, delayMs) / this.#rate, owner, callback),
      }),
    };
  }
}
