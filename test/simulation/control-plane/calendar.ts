/** The clock of the simulated control plane. */

/** How the control plane's clock differs from true time, in milliseconds. */
export interface ControlPlaneClock {
  /** By how much the clock is ahead of true time; negative: behind. */
  readonly offsetMs: number;
  /** How far the clock of the second machine is ahead of the first. The second machine dates every other write. */
  readonly secondMachineMs: number;
  /** Whether timestamps have whole seconds. */
  readonly wholeSeconds: boolean;
}

/** A right clock of one machine, in milliseconds. */
export const rightControlPlaneClock: ControlPlaneClock = {
  offsetMs: 0,
  secondMachineMs: 0,
  wholeSeconds: false,
};

/** Converts the engine's time into the time that the control plane's clock shows. */
export class ControlPlaneCalendar {
  readonly #clock: ControlPlaneClock;

  constructor(clock: ControlPlaneClock) {
    this.#clock = clock;
  }

  /** Returns a time as RFC 3339, in the form in which the control plane writes it into a record. */
  text(engineMs: number): string {
    const { offsetMs, secondMachineMs, wholeSeconds } = this.#clock;
    const machineMs = Math.floor(engineMs / 7) % 2 === 1 ? secondMachineMs : 0;
    const shownMs = engineMs + offsetMs + machineMs;
    const text = new Date(wholeSeconds ? Math.floor(shownMs / 1_000) * 1_000 : shownMs).toISOString();
    return wholeSeconds ? text.replace(".000Z", "Z") : text;
  }
}
