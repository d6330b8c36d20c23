import type { Clock } from "../domain/clock.ts";
import type { ReconcileObserver, Requeue } from "../domain/worker.ts";
import { settlesWithin } from "./shutdown.ts";
import type { WorkQueue } from "./work-queue.ts";

interface WorkerPoolOptions {
  readonly clock: Clock;
  readonly queue: WorkQueue;
  /** Resolves when the next reconcile may begin. A key is chosen after that, so that a late edit still comes first. */
  readonly turn: () => Promise<void>;
  /** Reconciles one key. If it throws, that is a bug; the key is tried again with backoff. */
  readonly work: (key: string) => Promise<Requeue>;
  readonly onError: (key: string, error: unknown) => void;
  readonly observer?: ReconcileObserver;
}

/** Each key has one reconcile at a time. The number of reconciles has no limit, because most of them only wait. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #running = new Set<Promise<void>>();
  #isStarting = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  start(): void {
    this.#options.queue.onReady(() => void this.#startAll());
    void this.#startAll();
  }

  /** Shuts the queue down, and waits for the reconciles in progress. @returns whether all ended within `timeoutMs` */
  stop(timeoutMs: number): Promise<boolean> {
    this.#options.queue.shutDown();
    return settlesWithin(this.#options.clock, timeoutMs, Promise.all(this.#running));
  }

  async #startAll(): Promise<void> {
    if (this.#isStarting) {
      return;
    }
    this.#isStarting = true;
    const { queue, turn } = this.#options;
    await turn();
    for (let key = queue.take(); key !== undefined; key = queue.take()) {
      const run = this.#run(key).finally(() => this.#running.delete(run));
      this.#running.add(run);
      await turn();
    }
    this.#isStarting = false;
  }

  async #run(key: string): Promise<void> {
    const requeue = await this.#reconcile(key);
    // The key is added again before `done`, so that a key that is due again is always in the queue.
    this.#requeue(key, requeue);
    this.#options.queue.done(key);
  }

  async #reconcile(key: string): Promise<Requeue> {
    const { clock, observer, work, onError } = this.#options;
    const startMs = clock.monotonicMs();
    const secondsSoFar = () => (clock.monotonicMs() - startMs) / 1000;
    try {
      const requeue = await work(key);
      observer?.reconcileEnded(resultOf[requeue.kind], secondsSoFar());
      return requeue;
    } catch (error) {
      onError(key, error);
      observer?.reconcileEnded("error", secondsSoFar());
      return { kind: "Retry" };
    }
  }

  #requeue(key: string, requeue: Requeue): void {
    const { queue } = this.#options;
    if (requeue.kind === "Retry") {
      queue.retry(key);
      return;
    }
    queue.forget(key);
    if (requeue.kind === "RequeueAfter") {
      // A next step that is due now is urgent: work that has begun comes before polls and retries.
      requeue.delayMs > 0 ? queue.addAfter(key, requeue.delayMs) : queue.add(key);
    }
  }
}

const resultOf = { Done: "success", RequeueAfter: "requeue_after", Retry: "requeue" } as const;
