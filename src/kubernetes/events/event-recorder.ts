/** Records Kubernetes events and sends them in the background. */
import { hash } from "node:crypto";
import { LeaderFenceError } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { EventRecorder, ResourceEvent, StoredIdentity } from "../../domain/resource-store.ts";
import { pause } from "../../http/call-deadline.ts";
import { settlesWithin } from "../../runtime/shutdown.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";
import { EventSender, type EventSenderOptions } from "./event-sender.ts";

interface EventRecorderOptions extends Omit<EventSenderOptions, "random"> {
  readonly logger: Logger;
  /** Returns a random number from 0 up to 1. @default Math.random */
  readonly random?: () => number;
}

interface EventRecorderStats {
  readonly sent: number;
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

interface Unsent {
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** When the event was first recorded, in epoch milliseconds. `lastMs` is the time of the last record. */
  readonly firstMs: number;
  lastMs: number;
  count: number;
}

/** After this many milliseconds, an equal event is a new one. */
const repeatMs = 360_000;
const queueCapacity = 2_000;
/** The maximum number of sent events that are remembered. The oldest are forgotten first. */
const memoryCapacity = 1_000;
/** The events that may be sent at once, and per second after that. For the API server, an event costs as much as a write. */
const pace = { capacity: 100, perSecond: 10 };
/** Dropped events are logged at most once in this many milliseconds. */
const dropsLoggedEveryMs = 60_000;

/**
 * Records Kubernetes events in memory, and sends them in the background with the API events.k8s.io/v1. Events are best
 * effort: if too many wait, or the process ends, some are dropped and counted.
 */
export class QueuedEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #sender: EventSender;
  readonly #bucket: TokenBucket;
  readonly #waiting = new Map<string, Unsent>();
  readonly #sent = new Map<string, SentEvent>();
  readonly #ending = new AbortController();
  #sending: Promise<void> | undefined;
  #sentCount = 0;
  #dropped = 0;
  #dropsLoggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket({ clock: options.clock, ...pace });
    this.#sender = new EventSender({ ...options, random: options.random ?? Math.random });
  }

  record(resource: StoredIdentity, event: ResourceEvent): void {
    const nowMs = this.#options.clock.nowMs();
    const id = idOf(resource, event);
    const waiting = this.#waiting.get(id);
    if (waiting !== undefined) {
      waiting.count += 1;
      waiting.lastMs = nowMs;
    } else if (this.#waiting.size >= queueCapacity) {
      this.#drop(1);
    } else {
      // The queue does not keep the object itself, because its whole status would stay in memory while the event waits.
      const { kind, key, uid, resourceVersion } = resource;
      const identity = { ...(kind && { kind }), key, uid, resourceVersion };
      this.#waiting.set(id, { resource: identity, event, firstMs: nowMs, lastMs: nowMs, count: 1 });
      this.#sending ??= this.#sendAll();
    }
  }

  /**
   * Sends the waiting events without pauses. After three quarters of the time it drops the rest.
   * @returns `true`: each event was sent or dropped before the deadline. `false`: a write still runs.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options;
    this.#ending.abort();
    const dropRest = clock.after(timeoutMs * 0.75, () => {
      this.#drop([...this.#waiting.values()].reduce((sum, { count }) => sum + count, 0));
      this.#waiting.clear();
    });
    const isInTime = await settlesWithin(clock, timeoutMs, Promise.resolve(this.#sending));
    dropRest.cancel();
    return isInTime;
  }

  stats(): EventRecorderStats {
    return { sent: this.#sentCount, dropped: this.#dropped };
  }

  async #sendAll(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#ending;
    while (this.#waiting.size > 0) {
      while (!signal.aborted && !this.#bucket.tryTake()) {
        await pause(clock, this.#bucket.waitMs(), [signal]);
      }
      for (const [id, unsent] of [...this.#waiting].slice(0, 1)) {
        this.#waiting.delete(id);
        await this.#send(id, unsent);
      }
    }
    // The field is cleared in the same tick in which the queue was found empty, so that an event recorded later starts
    // a new run.
    this.#sending = undefined;
  }

  async #send(id: string, unsent: Unsent): Promise<void> {
    const { resource, event, lastMs } = unsent;
    const sent = this.#recall(id);
    const firstMs = sent?.firstMs ?? unsent.firstMs;
    const count = (sent?.count ?? 0) + unsent.count;
    const name = sent?.name ?? this.#sender.nameFor(resource.key.name);
    try {
      const nowName = await this.#sender.send({ resource, event, name, firstMs, lastMs, count }, sent !== undefined);
      this.#remember(id, { name: nowName, firstMs, count, sentAtMs: this.#options.clock.monotonicMs() });
      this.#sentCount += unsent.count;
    } catch (error) {
      this.#fail(unsent, error);
    }
  }

  #recall(id: string): SentEvent | undefined {
    const sent = this.#sent.get(id);
    return sent !== undefined && this.#options.clock.monotonicMs() - sent.sentAtMs < repeatMs ? sent : undefined;
  }

  #remember(id: string, sent: SentEvent): void {
    this.#sent.delete(id);
    this.#sent.set(id, sent);
    if (this.#sent.size > memoryCapacity) {
      this.#sent.delete(this.#sent.keys().next().value ?? "");
    }
  }

  #fail({ resource, event, count }: Unsent, error: unknown): void {
    if (error instanceof LeaderFenceError) {
      this.#drop(count);
      return;
    }
    this.#dropped += count;
    this.#options.logger.warn(
      { ...resource.key, eventReason: event.reason, err: error },
      "an event could not be sent and is lost",
    );
  }

  #drop(count: number): void {
    this.#dropped += count;
    const nowMs = this.#options.clock.monotonicMs();
    if (count > 0 && nowMs - this.#dropsLoggedAtMs >= dropsLoggedEveryMs) {
      this.#dropsLoggedAtMs = nowMs;
      this.#options.logger.warn(
        { dropped: this.#dropped },
        "events were dropped: too many waited, or the process ends; `dropped` counts them since the start",
      );
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
