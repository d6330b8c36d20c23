import type { Urgency } from "./request-budget.ts";

/** One request that went out, or was tried, and how it ended. */
export interface ControlPlaneRequest {
  /** `/projects/{project_id}/endpoints`: never with the ids filled in, so that it can be a metric label. */
  readonly route: string;
  readonly method: string;
  /** The HTTP status of an answer that could be used or refused as documented; else the `ControlPlaneReason`. */
  readonly code: string;
  readonly seconds: number;
}

/**
 * `TooManyRequests`: the control plane answered 429. `HeldBack`: not sent, because the control plane had asked to wait.
 * `BudgetUsedUp`: not sent, because the operator's own budget of requests is used up.
 */
export type ThrottledReason = "TooManyRequests" | "HeldBack" | "BudgetUsedUp";

/** `ConflictingOperations`: the control plane answered 423, the project is busy. */
export type LockedReason = "ConflictingOperations";

/** Observes every request to the control plane, for metrics. Must not throw. */
export interface ControlPlaneObserver {
  requestEnded(request: ControlPlaneRequest): void;
  throttled(reason: ThrottledReason): void;
  /** A request has waited for the request budget. @param seconds 0 if the budget allowed it at once */
  budgetWaited(urgency: Urgency, seconds: number): void;
  locked(reason: LockedReason): void;
}
