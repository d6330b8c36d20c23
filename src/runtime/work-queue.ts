import type { Clock, Timer } from "../domain/clock.ts";
import { FairLine, type LineEntry } from "./fair-line.ts";
import { type BackoffOptions, createKeyedBackoff, type KeyedBackoff } from "./keyed-backoff.ts";

/**
 * `Urgent`: a person waits for the result, for instance of an edit. `Background`: work that can wait, for instance a
 * poll or a retry.
 */
export type WorkPriority = "Urgent" | "Background";

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
  /** The time for which the keys in work have been worked on, summed up: workqueue_unfinished_work_seconds. */
  readonly unfinishedWorkSeconds: number;
  /** The longest of these times: workqueue_longest_running_processor_seconds; 0 if no key is in work. */
  readonly longestRunningSeconds: number;
}

/** The options of a work queue. */
export interface WorkQueueOptions<Key> {
  readonly clock: Clock;
  /** Returns the identity of a key. */
  readonly idOf: (key: Key) => string;
  /**
   * Returns the group of a key. Groups take turns, so that a burst of one group does not delay a single edit of
   * another. @default one group for all
   */
  readonly groupOf?: (key: Key) => string;
  readonly backoff?: BackoffOptions;
  /** Observes the queue. @default no observer */
  readonly observer?: WorkQueueObserver;
  /** After this many urgent keys in a row, a background key has its turn. @default 16 */
  readonly urgentInARow?: number;
}

/**
 * A queue of keys for workers.
 * Guarantees: a key is in the queue at most once. No two workers hold the same key. A key that is added while a worker
 * holds it is worked on once more afterwards. Within a priority and a group, the first key in is the first out.
 */
export interface WorkQueue<Key> {
  /** Adds the key now. @param priority @default "Urgent" */
  add(key: Key, priority?: WorkPriority): void;
  /** Adds the key after a delay, with background priority. Of several such adds of one key only the earliest counts. */
  addAfter(key: Key, delayMs: number): void;
  /** Adds the key after its next backoff delay. @returns the delay in milliseconds */
  retry(key: Key): number;
  /** Resets the backoff of the key, because its last reconcile did not fail. */
  forget(key: Key): void;
  /** Returns the key's number of failures in a row. */
  failures(key: Key): number;
  /** Takes the next key; `undefined` if none is ready. Every taken key must be given to `done`. */
  take(): Key | undefined;
  /** Sets the listener that is called when a key is ready to be taken. There is at most one listener. */
  onReady(listener: () => void): void;
  /** Releases a key that a worker has taken. */
  done(key: Key): void;
  /** Drops waiting keys and accepts no more. Keys that workers hold are not affected. */
  shutDown(): void;
  stats(): WorkQueueStats;
}

interface QueuedKey<Key> extends LineEntry {
  readonly key: Key;
  readonly sinceMs: number;
}

interface WaitingKey {
  readonly dueMs: number;
  readonly timer: Timer;
}

const silentObserver: WorkQueueObserver = {
  added() {},
  depthChanged() {},
  taken() {},
  finished() {},
  retried() {},
};

/** Makes a work queue on the given clock; see `WorkQueue`. */
export function createWorkQueue<Key>(options: WorkQueueOptions<Key>): WorkQueue<Key> {
  return new KeyedWorkQueue(options);
}

class KeyedWorkQueue<Key> implements WorkQueue<Key> {
  readonly #clock: Clock;
  readonly #idOf: (key: Key) => string;
  readonly #groupOf: (key: Key) => string;
  readonly #backoff: KeyedBackoff;
  readonly #observer: WorkQueueObserver;
  readonly #urgentInARow: number;
  readonly #queued = { Urgent: new FairLine<QueuedKey<Key>>(), Background: new FairLine<QueuedKey<Key>>() };
  readonly #waiting = new Map<string, WaitingKey>();
  /** The keys that workers hold, and the time when each was taken. */
  readonly #working = new Map<string, number>();
  /** Keys that were added while a worker held them. */
  readonly #dirty = new Map<string, WorkPriority>();
  #onReady: () => void = () => {};
  #urgentTaken = 0;
  #isShutDown = false;

  constructor(options: WorkQueueOptions<Key>) {
    this.#clock = options.clock;
    this.#idOf = options.idOf;
    this.#groupOf = options.groupOf ?? (() => "");
    this.#backoff = createKeyedBackoff(options.backoff);
    this.#observer = options.observer ?? silentObserver;
    this.#urgentInARow = options.urgentInARow ?? 16;
  }

  add(key: Key, priority: WorkPriority = "Urgent"): void {
    if (this.#isShutDown) {
      return;
    }
    const id = this.#idOf(key);
    if (this.#working.has(id)) {
      this.#markDirty(id, priority);
      return;
    }
    this.#enqueue(id, key, priority);
  }

  addAfter(key: Key, delayMs: number): void {
    if (delayMs <= 0) {
      this.add(key, "Background");
      return;
    }
    if (this.#isShutDown) {
      return;
    }
    const id = this.#idOf(key);
    const dueMs = this.#clock.monotonicMs() + delayMs;
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined && waiting.dueMs <= dueMs) {
      return;
    }
    waiting?.timer.cancel();
    const timer = this.#clock.after(delayMs, () => {
      this.#waiting.delete(id);
      this.add(key, "Background");
    });
    this.#waiting.set(id, { dueMs, timer });
  }

  retry(key: Key): number {
    const delayMs = this.#backoff.next(this.#idOf(key));
    this.#observer.retried();
    this.addAfter(key, delayMs);
    return delayMs;
  }

  forget(key: Key): void {
    this.#backoff.forget(this.#idOf(key));
  }

  failures(key: Key): number {
    return this.#backoff.failures(this.#idOf(key));
  }

  take(): Key | undefined {
    const queued = this.#takeNext();
    if (queued === undefined) {
      return undefined;
    }
    const nowMs = this.#clock.monotonicMs();
    this.#working.set(queued.id, nowMs);
    this.#observer.taken((nowMs - queued.sinceMs) / 1000);
    this.#observer.depthChanged(this.#depth());
    return queued.key;
  }

  onReady(listener: () => void): void {
    this.#onReady = listener;
  }

  done(key: Key): void {
    const id = this.#idOf(key);
    const startedMs = this.#working.get(id);
    if (startedMs === undefined) {
      return;
    }
    this.#working.delete(id);
    this.#observer.finished((this.#clock.monotonicMs() - startedMs) / 1000);
    const priority = this.#dirty.get(id);
    this.#dirty.delete(id);
    if (priority !== undefined && !this.#isShutDown) {
      this.#enqueue(id, key, priority);
    }
  }

  shutDown(): void {
    this.#isShutDown = true;
    for (const { timer } of this.#waiting.values()) {
      timer.cancel();
    }
    this.#waiting.clear();
    this.#dirty.clear();
    this.#queued.Urgent.clear();
    this.#queued.Background.clear();
    this.#observer.depthChanged(0);
  }

  stats(): WorkQueueStats {
    const nowMs = this.#clock.monotonicMs();
    const running = [...this.#working.values()].map((startedMs) => (nowMs - startedMs) / 1000);
    return {
      depth: this.#depth(),
      delayed: this.#waiting.size,
      working: running.length,
      unfinishedWorkSeconds: running.reduce((sum, seconds) => sum + seconds, 0),
      longestRunningSeconds: running.reduce((longest, seconds) => Math.max(longest, seconds), 0),
    };
  }

  #markDirty(id: string, priority: WorkPriority): void {
    const before = this.#dirty.get(id);
    if (before === undefined) {
      this.#observer.added();
    }
    this.#dirty.set(id, before === "Urgent" ? "Urgent" : priority);
  }

  #enqueue(id: string, key: Key, priority: WorkPriority): void {
    const place = { id, group: this.#groupOf(key) };
    const background = this.#queued.Background.get(place);
    if (this.#queued.Urgent.get(place) !== undefined || (background !== undefined && priority === "Background")) {
      return;
    }
    // An edit makes a background key urgent. Its waiting time still counts from the first add.
    this.#queued.Background.leave(place);
    this.#queued[priority].join({ ...place, key, sinceMs: background?.sinceMs ?? this.#clock.monotonicMs() });
    if (background === undefined) {
      this.#observer.added();
    }
    this.#observer.depthChanged(this.#depth());
    this.#onReady();
  }

  /** Takes the next key. Urgent keys go first, but many of them in a row must not stop background keys. */
  #takeNext(): QueuedKey<Key> | undefined {
    const { Urgent: urgent, Background: background } = this.#queued;
    const isBackgroundsTurn = background.size > 0 && this.#urgentTaken >= this.#urgentInARow;
    if (urgent.size === 0 || isBackgroundsTurn) {
      this.#urgentTaken = 0;
      return background.takeNext();
    }
    this.#urgentTaken = background.size === 0 ? 0 : this.#urgentTaken + 1;
    return urgent.takeNext();
  }

  #depth(): number {
    return this.#queued.Urgent.size + this.#queued.Background.size;
  }
}
