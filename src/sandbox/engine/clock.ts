/** The sandbox's own clock. It can run faster or slower than the machine's clock, stand still or jump forward. */

/** `scaled`: `scale` times as fast as the machine's clock. `stepped`: time stands still until a client advances it. */
export type ClockMode = "real" | "scaled" | "stepped";

export interface ClockState {
  readonly mode: ClockMode;
  /** Sandbox milliseconds per millisecond of the machine; 1 in `real`, 0 in `stepped`. */
  readonly scale: number;
  readonly nowMs: number;
}

/** What is absent stays as it is. `scale` has no effect in other modes than `scaled`. */
export interface ClockChange {
  readonly mode?: ClockMode | undefined;
  readonly scale?: number | undefined;
  readonly nowMs?: number | undefined;
}

/** When the machine's clock showed `wallMs`, the sandbox's time was `sandboxMs`. Both in epoch milliseconds. */
export interface ClockAnchor {
  readonly mode: ClockMode;
  readonly scale: number;
  readonly sandboxMs: number;
  readonly wallMs: number;
}

/** The latest time that the clock shows, in epoch milliseconds. Up to this time, every year has four digits. */
export const endOfTimeMs = Date.UTC(9000, 0);

/** The machine's time in epoch milliseconds. It does not go back, even if the machine's clock is set back. */
export const steadyWallMs = (): number => performance.timeOrigin + performance.now();

/** The sandbox's own time. It never goes back, and stops at `endOfTimeMs`. */
export class SandboxClock {
  readonly #wallMs: () => number;
  #mode: ClockMode = "real";
  #scale = 1;
  #sandboxAnchorMs: number;
  #wallAnchorMs: number;
  readonly #onChange: (anchor: ClockAnchor) => void;

  /** @param onChange called after each change with the new start point, which `resume` needs after a restart */
  constructor(wallMs: () => number = steadyWallMs, onChange: (anchor: ClockAnchor) => void = () => {}) {
    this.#wallMs = wallMs;
    this.#onChange = onChange;
    this.#wallAnchorMs = wallMs();
    this.#sandboxAnchorMs = this.#wallAnchorMs;
  }

  nowMs(): number {
    const runMs = this.#sandboxAnchorMs + (this.#wallMs() - this.#wallAnchorMs) * this.#rate();
    return Math.min(Math.floor(runMs), endOfTimeMs);
  }

  state(): ClockState {
    return { mode: this.#mode, scale: this.#rate(), nowMs: this.nowMs() };
  }

  /** @throws RangeError when the time would go back or past `endOfTimeMs`, or the scale is not above 0 */
  set({ mode = this.#mode, scale = this.#scale, nowMs }: ClockChange): void {
    // The time is read once, because a running clock would be later at the next read.
    const currentMs = this.nowMs();
    if (nowMs !== undefined && nowMs < currentMs) throw new RangeError("now: the clock cannot go back");
    requireBeforeEnd(nowMs ?? currentMs);
    if (!(scale > 0)) throw new RangeError("scale: must be above 0");
    this.#mode = mode;
    this.#scale = mode === "scaled" ? scale : 1;
    this.#anchorAt(nowMs ?? currentMs);
  }

  /**
   * Continues from a stored start point, as if the clock had run while the sandbox was stopped. A `stepped` clock does
   * not run in that time.
   * @param notBeforeMs the new time is not before this, because the machine's clock may have been set back.
   */
  resume({ mode, scale, sandboxMs, wallMs }: ClockAnchor, notBeforeMs: number): void {
    this.#mode = mode;
    this.#scale = scale;
    const passedMs = Math.max(0, this.#wallMs() - wallMs) * this.#rate();
    this.#anchorAt(Math.max(notBeforeMs, sandboxMs + passedMs));
  }

  advance(milliseconds: number): void {
    const nowMs = this.nowMs() + milliseconds;
    requireBeforeEnd(nowMs);
    this.#anchorAt(nowMs);
  }

  /** Moves the clock forward to a time, in every mode. A time in the past changes nothing. */
  advanceTo(timeMs: number): void {
    const currentMs = this.nowMs();
    if (timeMs > currentMs) this.#anchorAt(timeMs);
  }

  /** Returns the machine's milliseconds until the sandbox's time is `dueMs`; `undefined`: it never comes. */
  wallDelayMs(dueMs: number): number | undefined {
    if (this.#mode === "stepped" || dueMs > endOfTimeMs) return undefined;
    return Math.max(0, (dueMs - this.nowMs()) / this.#rate());
  }

  #rate(): number {
    return this.#mode === "stepped" ? 0 : this.#scale;
  }

  #anchorAt(nowMs: number): void {
    this.#sandboxAnchorMs = nowMs;
    this.#wallAnchorMs = this.#wallMs();
    const anchor = { mode: this.#mode, scale: this.#scale, sandboxMs: nowMs, wallMs: this.#wallAnchorMs };
    this.#onChange(anchor);
  }
}

function requireBeforeEnd(timeMs: number): void {
  if (timeMs > endOfTimeMs) throw new RangeError("now: the clock ends with the year 8999");
}
