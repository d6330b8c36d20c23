/** The requests to a control plane: who sends them, and the ports that count them. */

/** One request that was sent or tried, and how it ended. */
export interface ControlPlaneRequest {
  /**
   * The path with placeholders, for instance `/projects/{project_id}/endpoints`. It never holds ids, so that it can be
   * a metric label.
   */
  readonly route: string;
  readonly method: string;
  /** The HTTP status, if the answer could be used or was a documented refusal; else the `ControlPlaneReason`. */
  readonly code: string;
  readonly seconds: number;
}

/**
 * Why a request was slowed down or not sent.
 * `TooManyRequests`: the control plane answered 429. `HeldBack`: not sent, because the control plane had asked to wait.
 * `BudgetUsedUp`: not sent, because the operator's own request budget is used up.
 */
export type ThrottledReason = "TooManyRequests" | "HeldBack" | "BudgetUsedUp";

/** Why a change was refused for now. `ConflictingOperations`: the control plane answered 423, the project is busy. */
export type LockedReason = "ConflictingOperations";

/** Receives every request to the control plane, for metrics. Its methods must not throw. */
export interface ControlPlaneObserver {
  requestEnded(request: ControlPlaneRequest): void;
  throttled(reason: ThrottledReason): void;
  /** Reports how long a request waited for the request budget. @param seconds 0 if the budget allowed it at once */
  budgetWaited(urgency: Urgency, seconds: number): void;
  locked(reason: LockedReason): void;
}

/**
 * Receives what concerns one control plane, for metrics. Must not throw. Each method gets the name of the control plane;
 * `settings` for the control plane of the settings.
 */
export interface PlaneObserver {
  /** A call begins: it is sent, or held back because the control plane had asked to wait. */
  callBegan(controlPlane: string): void;
  /** A request was slowed down or not sent. */
  throttledAt(controlPlane: string, reason: ThrottledReason): void;
  /** The control plane has accepted or refused the key. */
  keyJudged(controlPlane: string, isAccepted: boolean): void;
  /** The control plane is no longer used or has no key, so its metrics are removed. */
  keyForgotten(controlPlane: string): void;
}

/** `Urgent`: an edit or a deletion waits for the request. `Background`: polls and resyncs. */
export type Urgency = "Urgent" | "Background";

/**
 * The reconcile that wants to send a request. Each reconcile has one object: a reconcile that has already sent a
 * request goes before the others.
 */
export interface Caller {
  readonly urgency: Urgency;
  /** The namespace on whose behalf the request is sent. Namespaces share the budget fairly. */
  readonly namespace: string;
  /** The id of the project that is reconciled. */
  readonly project: string;
}
