/** The ports between the work queue, its workers and a reconcile. */

/** What happens with a key of the work queue after a reconcile. */
export type Requeue =
  /** The key comes back with the next event. */
  | { readonly kind: "Done" }
  /** The key comes back after `delayMs` milliseconds, 0 at once. This is no failure. */
  | { readonly kind: "RequeueAfter"; readonly delayMs: number }
  /** The key comes back after the queue's backoff, because of a failure or a conflict. */
  | { readonly kind: "Retry" };

/**
 * The worker that one reconcile uses. While a reconcile waits for the control plane, it gives its worker back. So a
 * control plane that hangs for one project does not stop the others.
 */
export interface WorkerSlot {
  /**
   * Gives the worker back, waits, and takes a worker again before it returns. If waits of one reconcile overlap, the
   * reconcile takes a worker again after the last of them. While `whileWorking` works, the worker stays.
   * @throws what `wait` throws, after a worker has been taken again.
   */
  whileWaiting<Result>(wait: () => Promise<Result>): Promise<Result>;
  /**
   * Keeps the worker until `work` ends, also while the reconcile waits for the control plane. This limits the number of
   * writes at the same time: each needs a connection. Call it while the reconcile has a worker.
   * @throws what `work` throws
   */
  whileWorking<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * The result of one reconcile, in the words of controller-runtime.
 * `requeue`: again with backoff; `requeue_after`: again at a stated time; `success`: nothing more until an event;
 * `error`: it threw an error, which is a bug.
 */
export type ReconcileResult = "success" | "error" | "requeue" | "requeue_after";

/** Receives reports of reconciles and workers, for metrics. Never throws. */
export interface ReconcileObserver {
  /** The number of used workers has changed. A reconcile that waits for the control plane uses none. */
  workersChanged(active: number): void;
  /** A reconcile has ended. @param seconds its duration, with its waits */
  reconcileEnded(result: ReconcileResult, seconds: number): void;
}

/** Observes the queue, for the metrics `workqueue_*`. Durations are in seconds. Its methods must not throw. */
export interface WorkQueueObserver {
  /** A key was added: workqueue_adds_total. */
  added(): void;
  /** The number of waiting keys changed: workqueue_depth. */
  depthChanged(depth: number): void;
  /** A worker took a key: workqueue_queue_duration_seconds. */
  taken(queuedSeconds: number): void;
  /** A worker finished a key: workqueue_work_duration_seconds. */
  finished(workSeconds: number): void;
  /** A key was added after a failure: workqueue_retries_total. */
  retried(): void;
}

/** The queue at one moment, for gauges and for liveness. */
export interface WorkQueueStats {
  /** The number of keys that wait for a worker. */
  readonly depth: number;
  /** The number of keys that will be added after a delay. */
  readonly delayed: number;
  /** The number of keys that workers hold. */
  readonly working: number;
  /** The sum of the times for which workers hold their keys: workqueue_unfinished_work_seconds. */
  readonly unfinishedWorkSeconds: number;
  /**
   * The longest time for which a worker holds its key: workqueue_longest_running_processor_seconds; 0 if no worker
   * holds one.
   */
  readonly longestRunningSeconds: number;
}
