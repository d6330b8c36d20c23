import { backoffMs, type Clock, type Timer, withJitter } from "../domain/clock.ts";
import type { Urgency } from "../domain/control-plane.ts";
import type { WorkQueueObserver, WorkQueueStats } from "../domain/worker.ts";

interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random?: () => number;
  readonly observer?: WorkQueueObserver;
}

/** After this many urgent keys in a row, the queue hands out a background key. */
const urgentInARow = 16;

const retryDelays = { firstMs: 5, longestMs: 300_000 };

/** A key is in the queue at most once, and no two reconciles hold it. If it is added meanwhile, it is taken once more. */
export class WorkQueue {
  readonly #options: WorkQueueOptions & { readonly random: () => number };
  readonly #queued = { Urgent: new Map<string, number>(), Background: new Map<string, number>() };
  readonly #waiting = new Map<string, { readonly dueMs: number; readonly timer: Timer }>();
  readonly #working = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  readonly #dirty = new Map<string, Urgency>();
  #onReady: () => void = () => {};
  #urgentTaken = 0;
  #isShutDown = false;

  constructor(options: WorkQueueOptions) {
    this.#options = { random: Math.random, ...options };
  }

  /** Adds the key now, or if a worker holds the key, as soon as the worker releases it. */
  add(key: string, priority: Urgency = "Urgent"): void {
    if (this.#isShutDown) {
      return;
    }
    if (!this.#working.has(key)) {
      this.#enqueue(key, priority);
      return;
    }
    const before = this.#dirty.get(key);
    if (before === undefined) {
      this.#options.observer?.added();
    }
    this.#dirty.set(key, before === "Urgent" ? "Urgent" : priority);
  }

  /** Adds the key after a delay, with background priority. Of several such adds of one key only the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key, "Background");
      return;
    }
    if (this.#isShutDown) {
      return;
    }
    const dueMs = this.#options.clock.monotonicMs() + delayMs;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined && waiting.dueMs <= dueMs) {
      return;
    }
    waiting?.timer.cancel();
    const timer = this.#options.clock.after(delayMs, () => {
      this.#waiting.delete(key);
      this.add(key, "Background");
    });
    this.#waiting.set(key, { dueMs, timer });
  }

  retry(key: string): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#options.observer?.retried();
    this.addAfter(key, withJitter(backoffMs(failures, retryDelays), this.#options.random));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** Takes the next key; `undefined` if none is ready. Every taken key must be given to `done`. */
  take(): string | undefined {
    for (const [key, sinceMs] of this.#nextQueue()) {
      const nowMs = this.#options.clock.monotonicMs();
      this.#queued.Urgent.delete(key);
      this.#queued.Background.delete(key);
      this.#working.set(key, nowMs);
      this.#options.observer?.taken((nowMs - sinceMs) / 1000);
      return key;
    }
    return undefined;
  }

  onReady(listener: () => void): void {
    this.#onReady = listener;
  }

  /** Releases a key that a worker has taken. If the key was added meanwhile, it is queued again. */
  done(key: string): void {
    const startedMs = this.#working.get(key);
    if (startedMs === undefined) {
      return;
    }
    this.#working.delete(key);
    this.#options.observer?.finished((this.#options.clock.monotonicMs() - startedMs) / 1000);
    const priority = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (priority !== undefined && !this.#isShutDown) {
      this.#enqueue(key, priority);
    }
  }

  /** Drops waiting keys and accepts no more. Keys that workers hold are not affected. */
  shutDown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#waiting.values()) {
      timer.cancel();
    }
    this.#waiting.clear();
    this.#dirty.clear();
    this.#queued.Urgent.clear();
    this.#queued.Background.clear();
  }

  stats(): WorkQueueStats {
    const nowMs = this.#options.clock.monotonicMs();
    const running = [...this.#working.values()].map((startedMs) => (nowMs - startedMs) / 1000);
    return {
      depth: this.#queued.Urgent.size + this.#queued.Background.size,
      unfinishedWorkSeconds: running.reduce((sum, seconds) => sum + seconds, 0),
      longestRunningSeconds: running.reduce((longest, seconds) => Math.max(longest, seconds), 0),
    };
  }

  #enqueue(key: string, priority: Urgency): void {
    const { Urgent: urgent, Background: background } = this.#queued;
    const sinceMs = background.get(key);
    if (urgent.has(key) || (sinceMs !== undefined && priority === "Background")) {
      return;
    }
    // An edit makes a background key urgent. Its waiting time still counts from the first add.
    background.delete(key);
    this.#queued[priority].set(key, sinceMs ?? this.#options.clock.monotonicMs());
    if (sinceMs === undefined) {
      this.#options.observer?.added();
    }
    this.#onReady();
  }

  #nextQueue(): ReadonlyMap<string, number> {
    const { Urgent: urgent, Background: background } = this.#queued;
    const isBackgroundsTurn = background.size > 0 && this.#urgentTaken >= urgentInARow;
    if (urgent.size === 0 || isBackgroundsTurn) {
      this.#urgentTaken = 0;
      return background;
    }
    this.#urgentTaken = background.size === 0 ? 0 : this.#urgentTaken + 1;
    return urgent;
  }
}
