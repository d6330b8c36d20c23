/** Lets the engine carry out what is due, even if no request comes. */
import type { SandboxClock } from "./clock.ts";
import type { Engine } from "./engine.ts";

/** The longest delay of setTimeout: a longer one does not fit into 32 bits. */
const longestTimeoutMs = 2 ** 31 - 1;

export class Pacemaker {
  readonly #engine: Engine;
  readonly #clock: SandboxClock;
  readonly #onError: (error: unknown) => void;
  #timeout: NodeJS.Timeout | undefined;
  #armedForMs: number | undefined;

  constructor(engine: Engine, clock: SandboxClock, onError: (error: unknown) => void) {
    this.#engine = engine;
    this.#clock = clock;
    this.#onError = onError;
  }

  /** Must be called after every change of the records. */
  look(): void {
    const dueMs = this.#engine.nextDueMs();
    // A timeout that fires too early does nothing and sets the timer again.
    if (dueMs === undefined || (this.#armedForMs !== undefined && this.#armedForMs <= dueMs)) return;
    this.lookAgain();
  }

  /** Must be called after a change of the clock. */
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
