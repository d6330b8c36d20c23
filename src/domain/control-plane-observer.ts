/** One request that went out, or was tried, and how it ended. */
export interface ControlPlaneRequest {
  /** `/projects/{project_id}/endpoints`: never with the ids filled in, so that it can be a metric label. */
  readonly route: string;
  readonly method: string;
  /** The HTTP status of an answer that could be used or refused as documented; else the `ControlPlaneReason`. */
  readonly code: string;
  readonly seconds: number;
}

/** `TooManyRequests`: the service answered 429. `HeldBack`: not sent, because it had asked us to wait. */
export type ThrottledReason = "TooManyRequests" | "HeldBack";

/** `ConflictingOperations`: the service answered 423, the project is busy. */
export type LockedReason = "ConflictingOperations";

/** Is told of every request to the control plane; for metrics. Must not throw. */
export interface ControlPlaneObserver {
  requestEnded(request: ControlPlaneRequest): void;
  throttled(reason: ThrottledReason): void;
  locked(reason: LockedReason): void;
}
