/** Finds out from the answers of a control plane whether it accepts the key, and whether it answers at all. */
import { credentialStateAfter, reasonsOfPlane } from "../control-plane/around-calls.ts";
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";

export interface PlaneError extends Pick<ControlPlaneError, "reason" | "message"> {
  /** When it began to fail, in epoch milliseconds. */
  readonly atMs: number;
}

export interface PlaneState {
  readonly credentials: "Accepted" | "Refused" | "Unknown";
  /** Why the control plane as a whole gives no usable answers now; `undefined`: it does not count as failing. */
  readonly currentError: PlaneError | undefined;
}

/** Calls must fail for this time before the control plane counts as failing. A refused key counts at once. */
const failingForMs = 30_000;

export class PlaneHealth {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #credentials: PlaneState["credentials"] = "Unknown";
  /** Failed calls in a row, in monotonic milliseconds. The first error stays, so that status does not change often. */
  #row: { readonly sinceMs: number; readonly lastMs: number; readonly error: PlaneError } | undefined;

  /** @param onChange called when credentials or the reason of the current error change; must not throw */
  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get state(): PlaneState {
    const row = this.#row;
    const isFailing = row !== undefined && (row.lastMs - row.sinceMs >= failingForMs || isOfKey(row.error));
    return { credentials: this.#credentials, currentError: isFailing ? row.error : undefined };
  }

  forgetKey(): void {
    this.#credentials = "Unknown";
    if (this.#row && isOfKey(this.#row.error)) this.#row = undefined;
  }

  /** A call has ended. @param error `undefined`: it succeeded */
  readonly noteCall = (error: unknown): void => {
    if (error !== undefined && !(error instanceof ControlPlaneError)) {
      return;
    }
    const before = this.state;
    const shown = credentialStateAfter(error);
    if (shown !== "Unclear") this.#credentials = shown;
    this.#row = error && reasonsOfPlane.has(error.reason) ? this.#rowWith(error) : undefined;
    const after = this.state;
    if (before.credentials !== after.credentials || before.currentError?.reason !== after.currentError?.reason) {
      this.#onChange();
    }
  };

  #rowWith({ reason, message }: ControlPlaneError) {
    const lastMs = this.#clock.monotonicMs();
    const latest = { reason, message, atMs: this.#clock.nowMs() };
    const { sinceMs = lastMs, error = latest } = this.#row ?? {};
    return { sinceMs, lastMs, error: isOfKey(latest) && !isOfKey(error) ? latest : error };
  }
}

function isOfKey({ reason }: PlaneError): boolean {
  return reason === "Unauthorized";
}
