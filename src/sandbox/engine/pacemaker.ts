/** Lets the engine carry out what is due, even if no request comes. */
import type { SandboxClock } from "./clock.ts";
import type { Engine } from "./engine.ts";

/**
 * The longest delay of setTimeout, in milliseconds. A longer delay does not fit into 32 bits, and the timer would fire
 * at once.
 */
const longestTimeoutMs = 2 ** 31 - 1;

/** Sets a timer for the moment at which something in the engine is due next. */
export class Pacemaker {
  readonly #engine: Engine;
  readonly #clock: SandboxClock;
  readonly #onError: (error: unknown) => void;
  #timeout: NodeJS.Timeout | undefined;
  #armedForMs: number | undefined;

  /** Makes a pacemaker. @param onError called with an error of the engine. The next `look` sets the timer again. */
  constructor(engine: Engine, clock: SandboxClock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
  }

  /**
   * Sets the timer if no timer is set, or if something is due earlier than the time of the set timer. It must be called
   * after every change of the records.
   */
  look(): void {
    const dueMs = this.#engine.nextDueMs();
    // A timeout that fires too early does nothing and sets the timer again.
    if (dueMs === undefined || (this.#armedForMs !== undefined && this.#armedForMs <= dueMs)) return;
    this.lookAgain();
  }

  /**
   * Replaces the timer. If nothing is due or the clock stands still, no timer is set. It must be called after a change
   * of the clock.
   */
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
