import type { SandboxClock } from "./clock.ts";
import type { Engine } from "./engine.ts";

/** setTimeout fires at once when asked for more than a signed 32-bit number of milliseconds. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Advances the engine when something becomes due, so that nobody has to ask for it. */
export class Pacemaker {
  readonly #engine: Engine;
  readonly #clock: SandboxClock;
  readonly #onError: (error: unknown) => void;
  #timeout: NodeJS.Timeout | undefined;
  #armedForMs: number | undefined;

  /** @param onError gets what carrying out something due has thrown; it is tried again at the next look only. */
  constructor(engine: Engine, clock: SandboxClock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** To be called after anything that may have changed what is due next. Cheap when nothing is due any sooner. */
  look(): void {
    const dueMs = this.#engine.nextDueMs();
    // A beat that comes too soon finds nothing to do, and looks again.
    if (dueMs === undefined || (this.#armedForMs !== undefined && this.#armedForMs <= dueMs)) return;
    this.lookAgain();
  }

  /** As `look`, but also when the clock itself was changed. */
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
