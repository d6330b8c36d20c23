import { hash } from "node:crypto";
import type { Timer } from "../../domain/clock.ts";
import type { EventRecorder, ResourceEvent } from "../../domain/event-recorder.ts";
import { LeaderFenceError } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { createEventLimiter, type EventLimiter } from "./event-limiter.ts";
import { EventMemory, type SentEvent } from "./event-memory.ts";
import { createEventPace, type EventPace } from "./event-pace.ts";
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
  /** Lost to the rate limit, a full queue, an error or a closed fence. */
  readonly dropped: number;
}

/** A recorder that works in the background. */
export interface QueuedEventRecorder extends EventRecorder {
  /**
   * For the end of the process: sends what waits without any more pauses, and gives up the rest when three quarters of
   * `timeoutMs` are over. Answers whether nothing was under way any more by then.
   */
  flush(timeoutMs: number): Promise<boolean>;
  stats(): EventRecorderStats;
}

/** Events by the events.k8s.io/v1 API; see the port for what it promises. */
export function createEventRecorder(options: EventRecorderOptions): QueuedEventRecorder {
  return new BackgroundEventRecorder(options);
}

/** One thing said about one object that is not sent yet, however often it was said meanwhile. */
interface Unsent {
  readonly id: string;
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** Epoch milliseconds, as `lastMs`. */
  readonly firstMs: number;
  lastMs: number;
  /** Without those that were sent before. */
  count: number;
  /** The event to count on; `undefined`: a new one. */
  sent: SentEvent | undefined;
}

/** Said again within this time after it was sent, it is the same event once more. */
const repeatMs = 360_000;
/** Most things that wait to be sent. */
const queueCapacity = 2_000;
/** Most events that are remembered once they are sent. */
const memoryCapacity = 1_000;
/** Many at once after a single change, and then no more than a cluster bears beside the work itself. */
const burst = 100;
const perSecond = 10;
/** What is lost for want of room or time is told of once for so long. */
const tellLossAfterMs = 60_000;

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
  #untold = 0;
  #telling: Timer | undefined;

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
    // Not the object itself: with its whole status it would be held for as long as the event waits.
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
    this.#tellLoss();
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
      // Only now: what is most urgent may have come meanwhile, or all may have been given up.
      const unsent = this.#queue.takeNext();
      if (unsent === undefined) {
        break;
      }
      // What is said ahead of time needs no turn, and leaves it to the next.
      hasTurn &&= unsent.event.isAhead === true;
      await this.#send(unsent);
    }
    // At the very moment the queue was found empty: what is recorded a microtask later must not count on this run.
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
      // Said again while it was under way.
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
      // The same for all that wait, and no news: whoever closed the gate has said so.
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
      this.#untold += unsent.count;
      this.#telling ??= this.#options.clock.after(tellLossAfterMs, () => this.#tellLoss());
    }
  }

  #loseAll(): void {
    for (const unsent of this.#queue.clear()) {
      this.#lose(unsent);
    }
  }

  /** One line for all: there may be thousands. */
  #tellLoss(): void {
    this.#telling?.cancel();
    this.#telling = undefined;
    if (this.#untold > 0) {
      this.#options.logger.warn(
        { lost: this.#untold },
        "events were lost: too many waited, or the process had to stop sending them",
      );
      this.#untold = 0;
    }
  }
}

/** Of the text, which would be held for as long as the event is remembered. */
function idOf({ uid }: StoredIdentity, { type, reason, action, note }: ResourceEvent): string {
  return hash("sha256", JSON.stringify([uid, type, reason, action, note]), "base64");
}
