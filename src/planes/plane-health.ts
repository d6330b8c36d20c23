/** Finds out from the answers of a control plane whether it accepts the key, and whether it answers at all. */
import { type CredentialState, credentialStateAfter } from "../control-plane/credential-gate.ts";
import type { CallGuard } from "../control-plane/guard-calls.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";

/** An error that concerns the control plane as a whole. */
export interface PlaneError {
  readonly reason: ControlPlaneReason;
  readonly message: string;
  /** When the error happened, in epoch milliseconds. */
  readonly atMs: number;
}

/** Errors that concern the control plane as a whole. Other errors concern a project or an object. */
const reasonsOfPlane: ReadonlySet<ControlPlaneReason> = new Set([
  "Unauthorized",
  "Throttled",
  "Unavailable",
  "ServerError",
  "Unreachable",
  "TimedOut",
  "ConnectionLost",
  "UnreadableAnswer",
]);

/** What the calls have shown about a control plane. */
export class PlaneHealth {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #credentials: Exclude<CredentialState, "Unclear"> | undefined;
  #lastError: PlaneError | undefined;
  #isFailing = false;

  /** Makes the health of a control plane. @param onChange called when its state changes; must not throw */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** Whether the control plane accepts the key; `undefined`: no call has shown it. */
  get credentials(): "Accepted" | "Refused" | undefined {
    return this.#credentials;
  }

  get lastError(): PlaneError | undefined {
    return this.#lastError;
  }

  /** The error of the latest call; `undefined`: the control plane answered it. */
  get currentError(): PlaneError | undefined {
    return this.#isFailing ? this.#lastError : undefined;
  }

  /** Forgets the results of the former key, because there is another key. */
  forgetKey(): void {
    this.#credentials = undefined;
    this.#isFailing = this.#isFailing && this.#lastError?.reason !== "Unauthorized";
  }

  /** Runs around each call and notes its result. */
  readonly watch: CallGuard = async (call) => {
    try {
      const value = await call();
      this.#note("Accepted", undefined);
      return value;
    } catch (error) {
      if (error instanceof ControlPlaneError) {
        this.#note(credentialStateAfter(error), reasonsOfPlane.has(error.reason) ? error : undefined);
      }
      throw error;
    }
  };

  #note(state: CredentialState, error: ControlPlaneError | undefined): void {
    const before = [this.#credentials, this.currentError?.reason];
    this.#credentials = state === "Unclear" ? this.#credentials : state;
    this.#isFailing = error !== undefined;
    if (error !== undefined && this.#lastError?.message !== error.message) {
      this.#lastError = { reason: error.reason, message: error.message, atMs: this.#clock.nowMs() };
    }
    if (before[0] !== this.#credentials || before[1] !== this.currentError?.reason) {
      this.#onChange();
    }
  }
}
