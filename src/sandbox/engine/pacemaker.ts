import type { SandboxClock } from "./clock.ts";
import type { Engine } from "./engine.ts";

/** The longest delay of setTimeout, in milliseconds: with more than a signed 32-bit number it fires at once. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Advances the engine when something becomes due, even if no request comes. */
export class Pacemaker {
  readonly #engine: Engine;
  readonly #clock: SandboxClock;
  readonly #onError: (error: unknown) => void;
  #timeout: NodeJS.Timeout | undefined;
  #armedForMs: number | undefined;

  /** Makes a pacemaker. @param onError called with an error of the engine, which tries again at the next `look` */
  constructor(engine: Engine, clock: SandboxClock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
  }

  /**
   * Sets the timer. It must be called after every change that may make something due earlier. It costs little if
   * nothing is.
   */
  look(): void {
    const dueMs = this.#engine.nextDueMs();
    // If a timeout fires too early, it finds nothing to do and sets itself again.
    if (dueMs === undefined || (this.#armedForMs !== undefined && this.#armedForMs <= dueMs)) return;
    this.lookAgain();
  }

  /** Sets the timer like `look`, but also after a change of the clock itself. */
  lookAgain(): void {
    this.stop();
    const dueMs = this.#engine.nextDueMs();
    const delayMs = dueMs === undefined ? undefined : this.#clock.wallDelayMs(dueMs);
    if (delayMs === undefined) return;
    this.#armedForMs = dueMs;
    this.#timeout = setTimeout(() => this.#beat(), Math.min(Math.ceil(delayMs), longestTimeoutMs));
    this.#timeout.unref();
  }

  stop(): void {
    clearTimeout(this.#timeout);
    this.#timeout = undefined;
    this.#armedForMs = undefined;
  }

  #beat(): void {
    try {
      this.#engine.advance();
    } catch (error) {
      this.stop();
      this.#onError(error);
      return;
    }
    this.lookAgain();
  }
}
