/** Finds out from the answers of a control plane whether it accepts the key, and whether it answers at all. */
import { type CredentialState, credentialStateAfter, reasonsOfPlane } from "../control-plane/around-calls.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError, type ControlPlaneReason } from "../domain/control-plane-error.ts";

export interface PlaneError {
  readonly reason: ControlPlaneReason;
  readonly message: string;
  /** When it began to fail for this reason, in epoch milliseconds. Further failures do not change this. */
  readonly atMs: number;
}

/** So many failed calls in a row, the first at least `failingForMs` ago. A refused key counts at once. */
const failuresInRow = 3;
const failingForMs = 30_000;

/** The longest backoff is shorter: without a failed call for this time, no resource tries any more. */
const failureLastsMs = 600_000;

export interface PlaneState {
  readonly credentials: "Accepted" | "Refused" | undefined;
  readonly lastError: PlaneError | undefined;
  /** Why the control plane as a whole gives no usable answers now; `undefined`: it does not count as failing. */
  readonly currentError: PlaneError | undefined;
}

export class PlaneHealth {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #state: PlaneState = { credentials: undefined, lastError: undefined, currentError: undefined };
  /** In monotonic milliseconds. `undefined`: the last call did not count as failed. */
  #row: { readonly sinceMs: number; readonly lastMs: number; readonly count: number } | undefined;

  /** @param onChange called when credentials or the reason of the current error change; must not throw */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): PlaneState {
    return this.#isRowOver() ? { ...this.#state, currentError: undefined } : this.#state;
  }

  /** `lastError` stays, and so does a current error that is not about the key. */
  forgetKey(): void {
    const { currentError, lastError } = this.#state;
    const isOfKey = currentError?.reason === "Unauthorized";
    this.#state = { credentials: undefined, lastError, currentError: isOfKey ? undefined : currentError };
  }

  /** A call has ended. @param error `undefined`: it succeeded */
  readonly noteCall = (error: unknown): void => {
    if (error === undefined) {
      this.#note("Accepted", undefined);
    } else if (error instanceof ControlPlaneError) {
      this.#note(credentialStateAfter(error), reasonsOfPlane.has(error.reason) ? error : undefined);
    }
  };

  #isRowOver(): boolean {
    return this.#row !== undefined && this.#clock.monotonicMs() - this.#row.lastMs >= failureLastsMs;
  }

  #note(shown: CredentialState, error: ControlPlaneError | undefined): void {
    const nowMs = this.#clock.monotonicMs();
    const before = this.state;
    const { sinceMs = nowMs, count = 0 } = (this.#isRowOver() ? undefined : this.#row) ?? {};
    this.#row = error && { sinceMs, lastMs: nowMs, count: count + 1 };
    const credentials = shown === "Unclear" ? before.credentials : shown;
    let { currentError } = before;
    if (error === undefined) {
      currentError = undefined;
    } else if (
      error.reason === "Unauthorized" ||
      // While the control plane fails, `currentError` keeps its first reason; only a refused key replaces it. If each new
      // reason did, the operator would write the status whenever the reason changes.
      (currentError === undefined && count + 1 >= failuresInRow && nowMs - sinceMs >= failingForMs)
    ) {
      const { reason, message } = error;
      currentError = currentError?.reason === reason ? currentError : { reason, message, atMs: this.#clock.nowMs() };
    }
    this.#state = { credentials, currentError, lastError: currentError ?? before.lastError };
    if (before.credentials !== credentials || before.currentError?.reason !== currentError?.reason) {
      this.#onChange();
    }
  }
}
