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

/** In JSON. To search the text is much faster than to visit each member. */
const timeMembers = /("(?:created_at|updated_at|last_active)":")([^"]*)/g;

/** Converts the engine's time into the time that the control plane's clock shows. */
export class ControlPlaneCalendar {
  readonly #clock: ControlPlaneClock;

  constructor(clock: ControlPlaneClock) {
    this.#clock = clock;
  }

  /** Returns the time that the control plane writes into a record. */
  shownMs(engineMs: number): number {
    const { offsetMs, secondMachineMs, wholeSeconds } = this.#clock;
    const machineMs = Math.floor(engineMs / 7) % 2 === 1 ? secondMachineMs : 0;
    const shownMs = engineMs + offsetMs + machineMs;
    return wholeSeconds ? Math.floor(shownMs / 1_000) * 1_000 : shownMs;
  }

  /** Returns an answer as JSON, with the times that the clock shows. */
  dated(answer: object): unknown {
    const text = JSON.stringify(answer);
    // A right clock shows the engine's times.
    const isRight = this.#clock === rightControlPlaneClock;
    return JSON.parse(
      isRight ? text : text.replace(timeMembers, (_all, start, time) => start + this.#text(Date.parse(time))),
    );
  }

  #text(engineMs: number): string {
    const text = new Date(this.shownMs(engineMs)).toISOString();
    return this.#clock.wholeSeconds ? text.replace(".000Z", "Z") : text;
  }
}
