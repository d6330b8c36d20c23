export type Requeue =
  | { readonly kind: "Done" }
  /** The key comes back after `delayMs` milliseconds, 0 at once. This is no failure. */
  | { readonly kind: "RequeueAfter"; readonly delayMs: number }
  /** The key comes back after the queue's backoff, because of a failure or a conflict. */
  | { readonly kind: "Retry" };

/** The words of controller-runtime. `error`: it threw an error, which is a bug. */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";

/** Receives reports of reconciles, for metrics. Never throws. */
export interface ReconcileObserver {
  reconcileEnded(result: ReconcileResult, seconds: number): void;
}

/** Observes the queue, for the metrics `workqueue_*`. Durations are in seconds. Its methods must not throw. */
export interface WorkQueueObserver {
  added(): void;
  taken(queuedSeconds: number): void;
  finished(workSeconds: number): void;
  retried(): void;
}

export interface WorkQueueStats {
  readonly depth: number;
  readonly unfinishedWorkSeconds: number;
  readonly longestRunningSeconds: number;
}
