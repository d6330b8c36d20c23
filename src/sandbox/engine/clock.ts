/** `real`: as fast as the machine's clock. `scaled`: `scale` times as fast. `stepped`: stands until it is advanced. */
export type ClockMode = "real" | "scaled" | "stepped";

/** How the sandbox's time runs. */
export interface ClockState {
  readonly mode: ClockMode;
  /** Sandbox milliseconds per millisecond of the machine; 1 in `real`, 0 in `stepped`. */
  readonly scale: number;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

/** What to change; a field that is absent stays. `scale` counts in `scaled` only. */
export interface ClockChange {
  readonly mode?: ClockMode | undefined;
  readonly scale?: number | undefined;
  readonly nowMs?: number | undefined;
}

/** From where a clock counts: at `wallMs` of the machine's clock it was `sandboxMs`. Epoch milliseconds. */
export interface ClockAnchor {
  readonly mode: ClockMode;
  /** As asked for; counts in `scaled`. */
  readonly scale: number;
  readonly sandboxMs: number;
  readonly wallMs: number;
}

/** Where time ends, so that every date has four digits for its year. Epoch milliseconds. */
export const endOfTimeMs = Date.UTC(9000, 0);

/** A wall clock that never goes back. Epoch milliseconds, may have fractions. */
export const steadyWallMs = (): number => performance.timeOrigin + performance.now();

/** The sandbox's own time. Never goes back, and stands still at `endOfTimeMs`. */
export class SandboxClock {
  readonly #wallMs: () => number;
  #mode: ClockMode = "real";
  #scale = 1;
  #sandboxAnchorMs: number;
  #wallAnchorMs: number;
  readonly #onChange: (anchor: ClockAnchor) => void;

  /** @param onChange gets what to remember in order to `resume` later. What it throws, the change throws. */
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

  /** @throws RangeError when it would go back or past the end, or the scale is not above 0 */
  set({ mode = this.#mode, scale = this.#scale, nowMs }: ClockChange): void {
    // Read once: a running clock would be later at the next look.
    const currentMs = this.nowMs();
    if (nowMs !== undefined && nowMs < currentMs) throw new RangeError("now: the clock cannot go back");
    requireBeforeEnd(nowMs ?? currentMs);
    if (!(scale > 0)) throw new RangeError("scale: must be above 0");
    this.#mode = mode;
    this.#scale = mode === "scaled" ? scale : 1;
    this.#anchorAt(nowMs ?? currentMs);
  }

  /**
   * Goes on from an anchor, as if it had run all the time.
   *
   * @param notBeforeMs a time that has been before: the machine's own clock may have been set back since.
   */
  resume({ mode, scale, sandboxMs, wallMs }: ClockAnchor, notBeforeMs: number): void {
    this.#mode = mode;
    this.#scale = scale;
    const passedMs = Math.max(0, this.#wallMs() - wallMs) * this.#rate();
    this.#anchorAt(Math.max(notBeforeMs, sandboxMs + passedMs));
  }

  /** Jumps forward, in every mode. @throws RangeError when that is past the end */
  advance(milliseconds: number): void {
    const nowMs = this.nowMs() + milliseconds;
    requireBeforeEnd(nowMs);
    this.#anchorAt(nowMs);
  }

  /** Jumps forward to a time, in every mode; one that has been already changes nothing. */
  advanceTo(timeMs: number): void {
    // Read once: a running clock would be later at the next look.
    const currentMs = this.nowMs();
    if (timeMs > currentMs) this.#anchorAt(timeMs);
  }

  /** Milliseconds of the machine until the sandbox's time is `dueMs`, at least 0; `undefined`: never by itself. */
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
