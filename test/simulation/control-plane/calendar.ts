/** The clock of the simulated control plane. */

/** How the control plane's clock differs from true time. All in milliseconds; steps in the order of their time. */
export interface ControlPlaneClock {
  /** By how much the clock is ahead of true time; negative: behind. */
  readonly offsetMs: number;
  /** From a true time on, the clock is ahead by this much more. A negative number: it is behind. */
  readonly steps: readonly { readonly fromMs: number; readonly byMs: number }[];
  /** How far the clock of the second machine is ahead of the first. The second machine dates every other write. */
  readonly secondMachineMs: number;
  /** Whether timestamps have whole seconds. */
  readonly wholeSeconds: boolean;
}

/** A right clock of one machine, in milliseconds. */
export const rightControlPlaneClock: ControlPlaneClock = {
  offsetMs: 0,
  steps: [],
  secondMachineMs: 0,
  wholeSeconds: false,
};

/**
 * Converts the engine's time, which never goes back, into the time that the control plane's clock shows. A record keeps
 * the time that the clock showed when it was written. So after a step back, new records look older than old ones.
 */
export class ControlPlaneCalendar {
  readonly #clock: ControlPlaneClock;
  readonly #epochMs: number;

  /** @param epochMs the engine's time at the true time 0 */
  constructor(clock: ControlPlaneClock, epochMs: number) {
    this.#clock = clock;
    this.#epochMs = epochMs;
  }

  /** Returns a time as RFC 3339, in the form in which the control plane writes it into a record. */
  text(engineMs: number): string {
    const { secondMachineMs, wholeSeconds } = this.#clock;
    const machineMs = Math.floor(engineMs / 7) % 2 === 1 ? secondMachineMs : 0;
    const shownMs = this.nowMs(engineMs) + machineMs;
    const text = new Date(wholeSeconds ? Math.floor(shownMs / 1_000) * 1_000 : shownMs).toISOString();
    return wholeSeconds ? text.replace(".000Z", "Z") : text;
  }

  /** Returns the time of the `Date` header in epoch milliseconds. */
  nowMs(engineMs: number): number {
    const { offsetMs, steps } = this.#clock;
    const trueMs = engineMs - this.#epochMs;
    return steps.reduce((sum, step) => (trueMs >= step.fromMs ? sum + step.byMs : sum), engineMs + offsetMs);
  }
}
