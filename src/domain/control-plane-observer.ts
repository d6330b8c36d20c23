import type { Urgency } from "./request-budget.ts";

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

/** Receives the results of using the operator's API key, for metrics. Must not throw. */
export interface CredentialObserver {
  /**
   * The control plane has accepted or refused the key. @param controlPlane its name; `settings` for the control plane
   * of the settings
   */
  keyJudged(controlPlane: string, isAccepted: boolean): void;
  /** The control plane is no longer used, so its metrics are removed. */
  keyForgotten(controlPlane: string): void;
}
