/** Finds out from the answers of a control plane whether it accepts the key, and whether it answers at all. */
import { type CredentialState, credentialStateAfter } from "../control-plane/call-guards.ts";
import type { Clock } from "../domain/clock.ts";
import type { CallGuard } from "../domain/control-plane.ts";
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

/**
 * The control plane counts as failing after this many failed calls in a row, over at least this time. A single project
 * that fails proves nothing while other projects get answers. A refused key counts at once.
 */
const failuresInRow = 3;
const failingForMs = 30_000;

/** What the calls have shown about a control plane. */
export class PlaneHealth {
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #credentials: Exclude<CredentialState, "Unclear"> | undefined;
  #lastError: PlaneError | undefined;
  #isFailing = false;
  /** The failed calls since the last answer. */
  #row: { readonly sinceMs: number; readonly count: number } | undefined;

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

  /** Why the control plane as a whole gives no usable answers now; `undefined`: it does not count as failing. */
  get currentError(): PlaneError | undefined {
    return this.#isFailing ? this.#lastError : undefined;
  }

  /** Forgets the results of the former key. */
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
    this.#row = error && {
      sinceMs: this.#row?.sinceMs ?? this.#clock.monotonicMs(),
      count: (this.#row?.count ?? 0) + 1,
    };
    if (error === undefined) {
      this.#isFailing = false;
    } else if (this.#isAboutPlane(error) && this.currentError?.reason !== "Unauthorized") {
      this.#fail(error);
    }
    if (before[0] !== this.#credentials || before[1] !== this.currentError?.reason) {
      this.#onChange();
    }
  }

  #isAboutPlane({ reason }: ControlPlaneError): boolean {
    const { sinceMs, count } = this.#row ?? { sinceMs: Number.POSITIVE_INFINITY, count: 0 };
    return reason === "Unauthorized" || (count >= failuresInRow && this.#clock.monotonicMs() - sinceMs >= failingForMs);
  }

  /**
   * While it fails, the first reason stays, unless the key is refused. If the status followed every failed call, it
   * would be written with every call.
   */
  #fail({ reason, message }: ControlPlaneError): void {
    if (!this.#isFailing || reason === "Unauthorized") {
      this.#lastError = { reason, message, atMs: this.#clock.nowMs() };
    }
    this.#isFailing = true;
  }
}
