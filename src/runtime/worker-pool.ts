import type { Clock } from "../domain/clock.ts";
import { settlesWithin } from "./deadline.ts";
import type { WorkQueue } from "./work-queue.ts";

/** What is to become of a key after a pass. */
export type WorkResult =
  /** Nothing to do until somebody adds it again. */
  | { readonly kind: "Done" }
  /** No failure; look again after `delayMs`. 0: at once. */
  | { readonly kind: "RequeueAfter"; readonly delayMs: number }
  /** A failure or a conflict: again after its backoff delay, but not before `atLeastMs`. */
  | { readonly kind: "Retry"; readonly atLeastMs?: number | undefined };

/** Watches passes; named after `controller_runtime_reconcile_*`. Must not throw. */
export interface WorkObserver {
  passStarted(): void;
  /** `error`: the pass threw. @param seconds how long it took. */
  passEnded(result: "success" | "error" | "requeue" | "requeue_after", seconds: number): void;
}

/** How a pool is made. */
export interface WorkerPoolOptions<Key> {
  readonly clock: Clock;
  readonly queue: WorkQueue<Key>;
  /** How many keys are worked on at once. */
  readonly workers: number;
  /** One pass over one key. Throwing is a bug; the key is tried again with backoff. */
  readonly work: (key: Key) => Promise<WorkResult>;
  /** A pass threw. */
  readonly onError: (key: Key, error: unknown) => void;
  /** @default tells nobody */
  readonly observer?: WorkObserver;
}

/** Workers that take keys from a queue until it shuts down. */
export interface WorkerPool {
  /** Starts the workers. To be called once. */
  start(): void;
  /**
   * Shuts the queue down and waits for the passes that run, `timeoutMs` at most.
   *
   * @returns whether all of them ended in time.
   */
  stop(timeoutMs: number): Promise<boolean>;
}

/** A pool; see `WorkerPool`. */
export function createWorkerPool<Key>(options: WorkerPoolOptions<Key>): WorkerPool {
  const { clock, queue, workers } = options;
  let running: readonly Promise<void>[] = [];
  return {
    start() {
      running = Array.from({ length: workers }, () => runWorker(options));
    },
    stop(timeoutMs) {
      queue.shutDown();
      return settlesWithin(clock, timeoutMs, Promise.all(running));
    },
  };
}

async function runWorker<Key>(options: WorkerPoolOptions<Key>): Promise<void> {
  const { queue } = options;
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    const result = await runPass(options, key);
    // Before `done`, so that a key that is to be looked at again is never out of sight in between.
    requeue(queue, key, result);
    queue.done(key);
  }
}

async function runPass<Key>(options: WorkerPoolOptions<Key>, key: Key): Promise<WorkResult> {
  const { clock, observer, work, onError } = options;
  const startMs = clock.monotonicMs();
  const secondsSoFar = () => (clock.monotonicMs() - startMs) / 1000;
  observer?.passStarted();
  try {
    const result = await work(key);
    observer?.passEnded(metricResult(result), secondsSoFar());
    return result;
  } catch (error) {
    onError(key, error);
    observer?.passEnded("error", secondsSoFar());
    return { kind: "Retry" };
  }
}

function requeue<Key>(queue: WorkQueue<Key>, key: Key, result: WorkResult): void {
  switch (result.kind) {
    case "Done":
      queue.forget(key);
      return;
    case "RequeueAfter":
      queue.forget(key);
      if (result.delayMs > 0) {
        queue.addAfter(key, result.delayMs);
      } else {
        // A step was made and the next one is due: work that was begun is ended before the backlog goes on.
        queue.add(key);
      }
      return;
    case "Retry":
      queue.retry(key, result.atLeastMs);
      return;
  }
}

function metricResult(result: WorkResult): "success" | "requeue" | "requeue_after" {
  switch (result.kind) {
    case "Done":
      return "success";
    case "RequeueAfter":
      return "requeue_after";
    case "Retry":
      return "requeue";
  }
}
