import { hash } from "node:crypto";
import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import type { Logger } from "../../domain/logger.ts";
import type { EventRecorder, ResourceEvent, StoredIdentity } from "../../domain/resource-store.ts";
import { pause } from "../../http/call-deadline.ts";
import { group, kind, version } from "../../resource/names.ts";
import { settlesWithin } from "../../runtime/shutdown.ts";
import { TokenBucket } from "../../runtime/token-bucket.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { mergePatch, microTime, objectPath, writeObject } from "../http/objects.ts";

interface EventRecorderOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name of this replica, for instance the name of the pod; at most 128 characters. */
  readonly instance: string;
  readonly random: () => number;
}

/** An event that the API server has. If an equal event is recorded within `repeatMs`, its count rises. */
interface SentEvent {
  readonly name: string;
  readonly sentAtMs: number;
  readonly count: number;
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
 * Records Kubernetes events in memory, and sends each once in the background. Events are best effort: if too many wait,
 * a write fails or the process ends, some are lost, and the log says so.
 */
export class QueuedEventRecorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #bucket: TokenBucket;
  readonly #waiting = new Set<EventContent>();
  readonly #sent = new Map<string, SentEvent>();
  readonly #ending = new AbortController();
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #dropsLoggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#bucket = new TokenBucket({ clock: options.clock, ...pace });
  }

  record({ kind, key, uid, resourceVersion }: StoredIdentity, event: ResourceEvent): void {
    if (this.#waiting.size >= queueCapacity) {
      this.#drop(1);
      return;
    }
    // The queue does not keep the object itself, because its whole status would stay in memory while the event waits.
    const resource = { ...(kind && { kind }), key, uid, resourceVersion };
    this.#waiting.add({ resource, event, atMs: this.#options.clock.nowMs() });
    this.#sending ??= this.#sendAll();
  }

  /**
   * Sends the waiting events without pauses. After three quarters of the time it drops the rest.
   * @returns `true`: each event was sent or dropped before the deadline. `false`: a write still runs.
   */
  async flush(timeoutMs: number): Promise<boolean> {
    const { clock } = this.#options;
    this.#ending.abort();
    const dropRest = clock.after(timeoutMs * 0.75, () => {
      this.#drop(this.#waiting.size);
      this.#waiting.clear();
    });
    const isInTime = await settlesWithin(clock, timeoutMs, Promise.resolve(this.#sending));
    dropRest.cancel();
    return isInTime;
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#ending;
    // This also visits the events that are recorded meanwhile.
    for (const unsent of this.#waiting) {
      while (!signal.aborted && !this.#bucket.tryTake()) {
        await pause(this.#options.clock, this.#bucket.waitMs(), [signal]);
      }
      if (this.#waiting.delete(unsent)) {
        await this.#send(unsent);
      }
    }
    this.#sending = undefined;
  }

  async #send(unsent: EventContent): Promise<void> {
    const { clock, logger, instance, random } = this.#options;
    const { resource, event } = unsent;
    const id = idOf(unsent);
    const before = this.#sent.get(id);
    this.#sent.delete(id);
    const isRepeat = before !== undefined && clock.monotonicMs() - before.sentAtMs < repeatMs;
    const { name, count } = isRepeat ? before : { name: eventName(resource.key.name, random), count: 0 };
    const place = placeOf(unsent);
    const call = isRepeat
      ? { path: objectPath("events", place, name), ...mergePatch(seriesOf(unsent, count + 1)) }
      : ({ method: "POST", path: objectPath("events", place), body: newEvent({ ...unsent, name }, instance) } as const);
    try {
      await writeObject(this.#options, { what: "record an event", ...call });
      this.#sent.set(id, { name, count: count + 1, sentAtMs: clock.monotonicMs() });
      if (this.#sent.size > memoryCapacity) {
        this.#sent.delete(this.#sent.keys().next().value ?? "");
      }
    } catch (err) {
      logger.warn({ ...resource.key, eventReason: event.reason, err }, "an event could not be sent and is lost");
    }
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

/** Equal events have the same id. It is a hash, because the text would stay in memory as long as it is remembered. */
function idOf({ resource, event: { type, reason, action, note } }: EventContent): string {
  return hash("sha256", JSON.stringify([resource.uid, type, reason, action, note]), "base64");
}

interface EventContent {
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  /** When it was recorded, in epoch milliseconds. */
  readonly atMs: number;
}

/** The maximum lengths that the events API allows. */
const limits = { note: 1024, reason: 128, action: 128, instance: 128, name: 253 } as const;

/** Returns the namespace of an event. Kubernetes keeps the events of objects without a namespace in `default`. */
function placeOf({ resource }: Pick<EventContent, "resource">): string {
  return resource.key.namespace || "default";
}

/** Returns a unique name for an event: the name of the object, shortened, and 16 random hexadecimal digits. */
export function eventName(resourceName: string, random: () => number): string {
  const digits = Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join("");
  // A part between dots must not end in a hyphen, and must not be empty.
  const start = resourceName.slice(0, limits.name - digits.length - 1).replace(/[-.]+$/, "");
  return `${start}.${digits}`;
}

function newEvent(content: EventContent & { readonly name: string }, instance: string): object {
  const { resource, event } = content;
  const { namespace, name } = resource.key;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: content.name, namespace: placeOf(content) },
    eventTime: microTime(content.atMs),
    reportingController: "endpoint-operator",
    reportingInstance: instance.slice(0, limits.instance),
    type: event.type,
    reason: event.reason.slice(0, limits.reason),
    action: event.action.slice(0, limits.action),
    note: shorten(event.note),
    regarding: {
      apiVersion: `${group}/${version}`,
      kind: resource.kind ?? kind,
      ...(namespace !== "" && { namespace }),
      name,
      uid: resource.uid,
      resourceVersion: resource.resourceVersion,
    },
  };
}

/** Of an event that was recorded more than once. The API server refuses a series with the count 1. */
function seriesOf({ atMs }: Pick<EventContent, "atMs">, count: number) {
  return { series: { count, lastObservedTime: microTime(atMs) } };
}

/** Shortens a note to the allowed number of bytes, because the API server counts bytes. */
function shorten(note: string): string {
  const bytes = Buffer.from(note.replaceAll(/\s+/g, " "));
  if (bytes.length <= limits.note) {
    return bytes.toString();
  }
  // If the cut splits a character, the remaining bytes decode to a replacement character, which is removed.
  const cut = bytes.subarray(0, limits.note - 3).toString();
  return `${cut.replace(/\uFFFD+$/, "")}…`;
}
