/** Runs a limited number of reconciles at the same time. */
import type { Clock } from "../domain/clock.ts";
import type { ReconcileObserver, Requeue, WorkerSlot } from "../domain/worker.ts";
import { settlesWithin } from "./shutdown.ts";
import type { WorkQueue } from "./work-queue.ts";

interface WorkerPoolOptions {
  readonly clock: Clock;
  readonly queue: WorkQueue;
  /** The maximum number of reconciles that run at once. A reconcile that has given its worker back does not count. */
  readonly workers: number;
  /** Reconciles one key. If it throws, that is a bug; the key is tried again with backoff. */
  readonly work: (key: string, slot: WorkerSlot) => Promise<Requeue>;
  readonly onError: (key: string, error: unknown) => void;
  readonly observer?: ReconcileObserver;
}

/** At most `workers` reconciles have a worker. One that has waited gets the next free worker, before any new key. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #running = new Set<Promise<void>>();
  /** Reconciles that have waited and want a worker again. */
  readonly #returning: (() => void)[] = [];
  #active = 0;
  #isPumpPending = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  /** Starts the workers. Call it once. */
  start(): void {
    this.#options.queue.onReady(() => this.#pumpSoon());
    this.#pumpSoon();
  }

  activeWorkers(): number {
    return this.#active;
  }

  /** Shuts the queue down, and waits for the reconciles in progress. @returns whether all ended within `timeoutMs` */
  stop(timeoutMs: number): Promise<boolean> {
    this.#options.queue.shutDown();
    return settlesWithin(this.#options.clock, timeoutMs, Promise.all(this.#running));
  }

  /** Code that adds a key must not run a reconcile within its own call. */
  #pumpSoon(): void {
    if (!this.#isPumpPending) {
      this.#isPumpPending = true;
      queueMicrotask(() => {
        this.#isPumpPending = false;
        this.#pump();
      });
    }
  }

  #pump(): void {
    const { queue, workers } = this.#options;
    while (this.#active < workers) {
      const resume = this.#returning.shift();
      if (resume !== undefined) {
        this.#setActive(this.#active + 1);
        resume();
        continue;
      }
      const key = queue.take();
      if (key === undefined) {
        return;
      }
      this.#setActive(this.#active + 1);
      const run = this.#run(key).finally(() => this.#running.delete(run));
      this.#running.add(run);
    }
  }

  #setActive(count: number): void {
    this.#active = count;
    this.#options.observer?.workersChanged(count);
  }

  #release(): void {
    this.#setActive(this.#active - 1);
    this.#pumpSoon();
  }

  #acquire(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#returning.push(resolve);
    this.#pumpSoon();
    return promise;
  }

  async #run(key: string): Promise<void> {
    const { queue } = this.#options;
    const slot = new HeldSlot(
      () => this.#acquire(),
      () => this.#release(),
    );
    const requeue = await this.#reconcile(key, slot);
    // The key is added again before `done`, so that a key that is due again is always in the queue.
    this.#requeue(key, requeue);
    queue.done(key);
    slot.end();
  }

  async #reconcile(key: string, slot: WorkerSlot): Promise<Requeue> {
    const { clock, observer, work, onError } = this.#options;
    const startMs = clock.monotonicMs();
    const secondsSoFar = () => (clock.monotonicMs() - startMs) / 1000;
    try {
      const requeue = await work(key, slot);
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
    if (requeue.kind === "Done") {
      return;
    }
    if (requeue.delayMs > 0) {
      queue.addAfter(key, requeue.delayMs);
    } else {
      // The next step of the reconcile is due now. It is urgent, so that work that has begun comes before polls and
      // retries.
      queue.add(key);
    }
  }
}

/** The worker that one reconcile holds. The reconcile takes it when it starts. */
class HeldSlot implements WorkerSlot {
  readonly #acquire: () => Promise<void>;
  readonly #release: () => void;
  #isHeld = true;
  #waits = 0;
  #works = 0;
  #acquiring: Promise<void> | undefined;
  #hasEnded = false;

  constructor(acquire: () => Promise<void>, release: () => void) {
    this.#acquire = acquire;
    this.#release = release;
  }

  async whileWaiting<Result>(wait: () => Promise<Result>): Promise<Result> {
    this.#waits += 1;
    this.#giveBackIfIdle();
    try {
      return await wait();
    } finally {
      this.#waits -= 1;
      if (this.#waits === 0 && !this.#isHeld && !this.#hasEnded) {
        this.#acquiring ??= this.#takeAgain();
        await this.#acquiring;
      }
    }
  }

  async whileWorking<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#works += 1;
    try {
      return await work();
    } finally {
      this.#works -= 1;
      this.#giveBackIfIdle();
    }
  }

  end(): void {
    this.#hasEnded = true;
    this.#giveBack();
  }

  #giveBackIfIdle(): void {
    if (this.#waits > 0 && this.#works === 0) {
      this.#giveBack();
    }
  }

  #giveBack(): void {
    if (this.#isHeld) {
      this.#isHeld = false;
      this.#release();
    }
  }

  async #takeAgain(): Promise<void> {
    await this.#acquire();
    this.#acquiring = undefined;
    this.#isHeld = true;
    if (this.#hasEnded) {
      this.#giveBack();
    }
  }
}

const resultOf = { Done: "success", RequeueAfter: "requeue_after", Retry: "requeue" } as const;
