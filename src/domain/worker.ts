/** What becomes of a key of the work queue after a reconcile. */
export type Requeue =
  /** Nothing to do until something happens. */
  | { readonly kind: "Done" }
  /** No failure. Reconcile again after `delayMs`; 0 means at once. */
  | { readonly kind: "RequeueAfter"; readonly delayMs: number }
  /** A conflict or a bug. Reconcile again after the backoff of the queue. */
  | { readonly kind: "Retry" };

/**
 * The right of one reconcile to use one of the workers.
 *
 * A reconcile that waits for the control plane gives the worker back meanwhile, so that a control plane that hangs for one
 * project does not stop the others.
 */
export interface WorkerSlot {
  /**
   * Gives the worker back, waits, and takes a worker again before it returns. Waits of one reconcile may overlap: the
   * reconcile then takes a worker again after the last of them.
   *
   * @throws what `wait` throws, also after a worker has been taken again.
   */
  whileWaiting<Result>(wait: () => Promise<Result>): Promise<Result>;
}

/**
 * How one reconcile ended, in the words of controller-runtime.
 *
 * `requeue`: again with backoff; `requeue_after`: again at a stated time; `success`: nothing more until an event.
 */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";

/** Observes reconciles and workers. Never throws. */
export interface ReconcileObserver {
  /** @param active workers in use now; a reconcile that waits for the control plane uses none. */
  workersChanged(active: number): void;
  /** @param seconds the duration of the reconcile, its waits included. */
  reconcileEnded(result: ReconcileResult, seconds: number): void;
}
