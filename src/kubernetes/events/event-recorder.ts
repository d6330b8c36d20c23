import { hash } from "node:crypto";
import type { Timer } from "../../domain/clock.ts";
import type { EventRecorder, ResourceEvent } from "../../domain/event-recorder.ts";
import { LeaderFenceError } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { EventMemory, type SentEvent } from "./event-memory.ts";
import { createEventLimiter, createEventPace, type EventLimiter, type EventPace } from "./event-pace.ts";
import { EventQueue } from "./event-queue.ts";
import { EventSender, type EventSenderOptions } from "./event-sender.ts";

/** How a recorder is made. */
export interface EventRecorderOptions extends Omit<EventSenderOptions, "random"> {
  readonly logger: Logger;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
}

/** Events so far. */
export interface EventRecorderStats {
  /** Sent, repeats included. */
  readonly sent: number;
  /** Dropped because of the rate limit, a full queue, an error or a closed fence. */
  readonly dropped: number;
}

/** A recorder that sends in the background. */
export interface QueuedEventRecorder extends EventRecorder {
  /**
   * For the end of the process: sends the waiting events without pauses, and drops the rest after three quarters of
   * `timeoutMs`.
   *
   * @returns whether all events were sent before the deadline.
   */
  flush(timeoutMs: number): Promise<boolean>;
  stats(): EventRecorderStats;
}

/** Records events by the events.k8s.io/v1 API. */
export function createEventRecorder(options: EventRecorderOptions): QueuedEventRecorder {
  return new BackgroundEventRecorder(options);
}

/** One event that is not sent yet, with the number of its repeats. */
interface Unsent {
  readonly id: string;
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** Epoch milliseconds, as `lastMs`. */
  readonly firstMs: number;
  lastMs: number;
  /** The repeats that were not sent yet. */
  count: number;
  /** The stored event whose count goes up; `undefined` for a new event. */
  sent: SentEvent | undefined;
}

/** An equal event within this time after the last one raises the count of that one. */
const repeatMs = 360_000;
/** The maximum number of events that wait to be sent. */
const queueCapacity = 2_000;
/** The maximum number of sent events that are remembered. */
const memoryCapacity = 1_000;
/** A single change may cause many events at once; after that, the rate is one that any cluster bears. */
const burst = 100;
const perSecond = 10;
/** Dropped events are logged at most once per interval. */
const reportDropsAfterMs = 60_000;

class BackgroundEventRecorder implements QueuedEventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #limiter: EventLimiter;
  readonly #queue = new EventQueue<Unsent>(queueCapacity);
  readonly #memory: EventMemory;
  readonly #pace: EventPace;
  readonly #sender: EventSender;
  #sending: Promise<void> | undefined;
  #sent = 0;
  #dropped = 0;
  #unreported = 0;
  #reportTimer: Timer | undefined;

  constructor(options: EventRecorderOptions) {
    const { clock, random = Math.random } = options;
    this.#options = options;
    this.#limiter = createEventLimiter({ clock });
    this.#memory = new EventMemory({ clock, forMs: repeatMs, capacity: memoryCapacity });
    this.#pace = createEventPace({ clock, burst, perSecond });
    this.#sender = new EventSender({ ...options, random });
  }

  record(resource: StoredIdentity, event: ResourceEvent): void {
    if (!this.#limiter.mayRecord(resource.uid)) {
      this.#dropped += 1;
      return;
    }
    const nowMs = this.#options.clock.nowMs();
    const id = idOf(resource, event);
    const waiting = this.#queue.find(id);
    if (waiting !== undefined) {
      waiting.count += 1;
      waiting.lastMs = nowMs;
      return;
    }
    // Not the object itself, because its whole status would stay in memory while the event waits.
    const { key, uid, resourceVersion } = resource;
    const times = { firstMs: nowMs, lastMs: nowMs, count: 1 };
    const sent = this.#memory.recall(id);
    this.#lose(this.#queue.join({ id, resource: { key, uid, resourceVersion }, event, ...times, sent }));
    this.#sending ??= this.#sendAll();
  }

  async flush(timeoutMs: number): Promise<boolean> {
    const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
    const { clock } = this.#options;
    const timers = [clock.after(timeoutMs * 0.75, () => this.#loseAll()), clock.after(timeoutMs, () => resolve(false))];
    this.#pace.hurry();
    const sent = Promise.resolve(this.#sending).then(() => true);
    const isInTime = await Promise.race([sent, timeout]);
    for (const timer of timers) {
      timer.cancel();
    }
    this.#memory.pause();
    this.#reportDrops();
    return isInTime;
  }

  stats(): EventRecorderStats {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  async #sendAll(): Promise<void> {
    let hasTurn = false;
    while (this.#queue.size > 0) {
      if (!hasTurn && !this.#queue.isNextAhead) {
        await this.#pace.turn();
        hasTurn = true;
      }
      // Only now: a more urgent event may have come meanwhile, or all may have been dropped.
      const unsent = this.#queue.takeNext();
      if (unsent === undefined) {
        break;
      }
      // An announcement needs no place in the pace, and leaves it to the next event.
      hasTurn &&= unsent.event.isAhead === true;
      await this.#send(unsent);
    }
    // Set in the same tick in which the queue was found empty, so that an event recorded later starts a new run.
    this.#sending = undefined;
  }

  async #send(unsent: Unsent): Promise<void> {
    const { id, resource, event, lastMs, sent } = unsent;
    const firstMs = sent?.firstMs ?? unsent.firstMs;
    const count = (sent?.count ?? 0) + unsent.count;
    const name = sent?.name ?? this.#sender.nameFor(resource.key.name);
    try {
      const content = { resource, event, name, firstMs, lastMs, count };
      const nowSent = { name: await this.#sender.send(content, sent !== undefined), firstMs, count };
      this.#sent += unsent.count;
      this.#memory.remember(id, nowSent);
      // Recorded again while it was being sent.
      const repeat = this.#queue.find(id);
      if (repeat !== undefined) {
        repeat.sent = nowSent;
      }
    } catch (error) {
      this.#fail(unsent, error);
    }
  }

  #fail(unsent: Unsent, error: unknown): void {
    if (error instanceof LeaderFenceError) {
      // The same for all waiting events; the reason why the fence is closed is in the log already.
      this.#lose(unsent);
      return;
    }
    const { namespace, name } = unsent.resource.key;
    this.#dropped += unsent.count;
    this.#options.logger.warn({ namespace, name, eventReason: unsent.event.reason, err: error }, "an event was lost");
  }

  #lose(unsent: Unsent | undefined): void {
    if (unsent !== undefined) {
      this.#dropped += unsent.count;
      this.#unreported += unsent.count;
      this.#reportTimer ??= this.#options.clock.after(reportDropsAfterMs, () => this.#reportDrops());
    }
  }

  #loseAll(): void {
    for (const unsent of this.#queue.clear()) {
      this.#lose(unsent);
    }
  }

  /** One log line for all dropped events. */
  #reportDrops(): void {
    this.#reportTimer?.cancel();
    this.#reportTimer = undefined;
    if (this.#unreported > 0) {
      this.#options.logger.warn(
        { lost: this.#unreported },
        "events were dropped: too many waited, or the process stopped",
      );
      this.#unreported = 0;
    }
  }
}

/** A hash in place of the text, which would stay in memory for as long as the event is remembered. */
function idOf({ uid }: StoredIdentity, { type, reason, action, note }: ResourceEvent): string {
  return hash("sha256", JSON.stringify([uid, type, reason, action, note]), "base64");
}
