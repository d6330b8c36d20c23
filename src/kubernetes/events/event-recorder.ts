/** Records Kubernetes events and sends them in the background. */
import { hash } from "node:crypto";
import type { Timer } from "../../domain/clock.ts";
import { LeaderFenceError } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { EventRecorder, ResourceEvent, StoredIdentity } from "../../domain/resource-store.ts";
import { settlesWithin } from "../../runtime/shutdown.ts";
import { createEventLimiter, EventPace, EventQueue } from "./event-queue.ts";
import { EventSender, type EventSenderOptions } from "./event-sender.ts";

interface EventRecorderOptions extends Omit<EventSenderOptions, "random"> {
  readonly logger: Logger;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
  /**
   * Whether the operator has much other work. While it has, events other than announcements of a coming change are sent
   * more slowly.
   * @default never
   */
  readonly isBusy?: () => boolean;
}

interface EventRecorderStats {
  /** The number of sent events. Each repeat counts. */
  readonly sent: number;
  /**
   * The number of events that were not sent; each repeat counts. Causes: the limit per object, a full queue, an error,
   * a closed leader fence, the end of the process.
   */
  readonly dropped: number;
}

/** A sent event. If an equal event is recorded within `repeatMs`, the count of the sent event rises. */
interface SentEvent {
  readonly name: string;
  /** When the event was first sent, in epoch milliseconds. */
  readonly firstMs: number;
  /** When the event was last sent, in monotonic milliseconds. */
  readonly sentAtMs: number;
  /** The count that the API server has. */
  readonly count: number;
}

/** An event that is not sent yet, with its repeats. */
interface Unsent {
  readonly id: string;
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** When the event was first recorded, in epoch milliseconds. `lastMs` is the time of the last record. */
  readonly firstMs: number;
  lastMs: number;
  /** How often the event was recorded and not sent yet. The first record counts too. */
  count: number;
  /** The equal event that was sent shortly before: its count will rise. `undefined`: a new event is created. */
  sent: SentEvent | undefined;
}

/**
 * If an equal event was sent less than this long ago, its count rises. Otherwise a new event is created. In
 * milliseconds.
 */
const repeatMs = 360_000;
/** The maximum number of events that wait to be sent. */
const queueCapacity = 2_000;
/** The maximum number of sent events that are remembered. The oldest are forgotten first. */
const memoryCapacity = 1_000;
/** The maximum number of events sent at once. A single change may cause many. */
const burst = 100;
/** The number of events per second that are sent after a burst. */
const perSecond = 10;
/**
 * Dropped events are logged in one line, this long after the first of them, in milliseconds; at the end of the process
 * earlier.
 * An event that was dropped because of an error has a line of its own. Events above the limit per object are not
 * logged, only counted.
 */
const reportDropsAfterMs = 60_000;

/** Records Kubernetes events in memory, and sends them in the background with the API events.k8s.io/v1. */
export class QueuedEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  /** Whether one more event about the object with this uid may be recorded. */
  readonly #mayRecord: (uid: string) => boolean;
  readonly #queue = new EventQueue<Unsent>(queueCapacity);
  readonly #memory = new SentEvents();
  readonly #pace: EventPace;
  readonly #sender: EventSender;
  #sending: Promise<void> | undefined;
  #sent = 0;
  #dropped = 0;
  #unreported = 0;
  #reportTimer: Timer | undefined;

  constructor(options: EventRecorderOptions) {
    const { clock, random = Math.random, isBusy } = options;
    this.#options = options;
    this.#mayRecord = createEventLimiter({ clock });
    this.#pace = new EventPace({ clock, burst, perSecond, isBusy });
    this.#sender = new EventSender({ ...options, random });
  }

  record(resource: StoredIdentity, event: ResourceEvent): void {
    if (!this.#mayRecord(resource.uid)) {
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
    // The queue does not keep the object itself, because its whole status would stay in memory while the event waits.
    const { kind, key, uid, resourceVersion } = resource;
    const times = { firstMs: nowMs, lastMs: nowMs, count: 1 };
    const sent = this.#memory.recall(id, this.#options.clock.monotonicMs());
    this.#lose(
      this.#queue.join({ id, resource: { ...(kind && { kind }), key, uid, resourceVersion }, event, ...times, sent }),
    );
    this.#sending ??= this.#sendAll();
  }

  /**
   * Sends the waiting events without pauses before the process ends. After three quarters of the time it drops the
   * rest.
   * @returns `true`: each event was sent or dropped before the deadline. `false`: a write still runs.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options;
    const dropRest = clock.after(timeoutMs * 0.75, () => this.#loseAll());
    this.#pace.endLimit();
    const isInTime = await settlesWithin(clock, timeoutMs, Promise.resolve(this.#sending));
    dropRest.cancel();
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
      // The event is taken only after the wait. Meanwhile a more urgent event may have come, or all events may have
      // been dropped.
      const unsent = this.#queue.takeNext();
      if (unsent === undefined) {
        break;
      }
      // An announcement of a coming change does not wait for the rate limit. A turn that was waited for already stays
      // for the next event.
      hasTurn &&= unsent.event.isAhead === true;
      await this.#send(unsent);
    }
    // The field is cleared in the same tick in which the queue was found empty, so that an event recorded later starts
    // a new run.
    this.#sending = undefined;
  }

  async #send(unsent: Unsent): Promise<void> {
    const { id, resource, event, lastMs, sent } = unsent;
    const firstMs = sent?.firstMs ?? unsent.firstMs;
    const count = (sent?.count ?? 0) + unsent.count;
    const name = sent?.name ?? this.#sender.nameFor(resource.key.name);
    try {
      const content = { resource, event, name, firstMs, lastMs, count };
      const nowName = await this.#sender.send(content, sent !== undefined);
      const nowSent = { name: nowName, firstMs, count, sentAtMs: this.#options.clock.monotonicMs() };
      this.#sent += unsent.count;
      this.#memory.remember(id, nowSent);
      // If the event was recorded again during the send, that repeat raises the count of the event just sent.
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
      // The event gets no log line of its own: the fence refuses all waiting events, and the end of the leadership is
      // logged already.
      this.#lose(unsent);
      return;
    }
    const { namespace, name } = unsent.resource.key;
    this.#dropped += unsent.count;
    this.#options.logger.warn(
      { namespace, name, eventReason: unsent.event.reason, err: error },
      "an event could not be sent and is lost",
    );
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

  /** Writes one log line for all dropped events. */
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

/** The events that were sent recently, by id, in the order in which they were sent. */
class SentEvents {
  readonly #byId = new Map<string, SentEvent>();

  /**
   * Returns the sent event with this id. `undefined`: none was sent within `repeatMs`, or too many other events were
   * sent since.
   */
  recall(id: string, nowMs: number): SentEvent | undefined {
    const sent = this.#byId.get(id);
    return sent !== undefined && nowMs - sent.sentAtMs < repeatMs ? sent : undefined;
  }

  remember(id: string, sent: SentEvent): void {
    this.#byId.delete(id);
    this.#byId.set(id, sent);
    if (this.#byId.size > memoryCapacity) {
      this.#byId.delete(this.#byId.keys().next().value ?? "");
    }
  }
}

/**
 * Returns the id of an event. Equal events have the same id: the same object, type, reason, action and note. The id is
 * a hash, because the text would stay in memory as long as the event is remembered.
 */
function idOf({ uid }: StoredIdentity, { type, reason, action, note }: ResourceEvent): string {
  return hash("sha256", JSON.stringify([uid, type, reason, action, note]), "base64");
}
