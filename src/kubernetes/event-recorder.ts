import { hash } from "node:crypto";
import { EffectNotPermittedError, type EffectPermit } from "../domain/effect-permit.ts";
import type { EventRecorder, ResourceEvent } from "../domain/event-recorder.ts";
import { KubernetesError, type StoredIdentity } from "../domain/resource-store.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { KubernetesConnection } from "./connection.ts";
import { eventName, newEventBody, seriesPatchBody } from "./event-body.ts";
import { createEventLimiter, type EventLimiter } from "./event-limiter.ts";
import { createEventPace, type EventPace } from "./event-pace.ts";
import { EventQueue } from "./event-queue.ts";
import { eventsPath } from "./paths.ts";

/** How a recorder is made. */
export interface EventRecorderOptions {
  readonly connection: KubernetesConnection;
  readonly permit: EffectPermit;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This process among its replicas, for instance the pod's name; at most 128 characters. */
  readonly instance: string;
  /** Uniform in [0, 1). @default Math.random */
  readonly random?: () => number;
}

/** Events so far. */
export interface EventRecorderStats {
  /** Sent, repeats included. */
  readonly sent: number;
  /** Lost to the rate limit, a full queue, an error or a closed permit. */
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

/** One thing said about one object, however often. */
interface Series {
  readonly id: string;
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  readonly firstMs: number;
  name: string;
  count: number;
  lastMs: number;
  /** How often of `count` the API server knows. */
  sentCount: number;
  isQueued: boolean;
}

const callTimeoutMs = 8_000;
/** Said again within this time, it is the same event once more. */
const seriesMs = 360_000;
/** Most things that wait to be sent. */
const queueCapacity = 2_000;
/** Most series that are remembered. */
const seriesCapacity = 1_000;
/** Many at once after a single change, and then no more than a cluster bears beside the work itself. */
const burst = 100;
const perSecond = 10;
const maxAttempts = 3;
const retryDelayMs = 1_000;

class BackgroundEventRecorder implements QueuedEventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #random: () => number;
  readonly #limiter: EventLimiter;
  readonly #series = new Map<string, Series>();
  readonly #queue = new EventQueue<Series>(queueCapacity);
  readonly #pace: EventPace;
  #sending: Promise<void> | undefined;
  #sent = 0;
  #dropped = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#limiter = createEventLimiter({ clock: options.clock });
    this.#pace = createEventPace({ clock: options.clock, burst, perSecond });
  }

  record(resource: StoredIdentity, event: ResourceEvent): void {
    if (!this.#limiter.mayRecord(resource.uid)) {
      this.#dropped += 1;
      return;
    }
    const series = this.#seriesOf(resource, event);
    series.count += 1;
    series.lastMs = this.#options.clock.nowMs();
    if (!series.isQueued) {
      series.isQueued = true;
      this.#drop(this.#queue.join(series));
    }
    this.#sending ??= this.#sendAll();
  }

  async flush(timeoutMs: number): Promise<boolean> {
    const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
    const { clock } = this.#options;
    const timers = [clock.after(timeoutMs * 0.75, () => this.#dropAll()), clock.after(timeoutMs, () => resolve(false))];
    this.#pace.hurry();
    const sent = Promise.resolve(this.#sending).then(() => true);
    const isInTime = await Promise.race([sent, timeout]);
    for (const timer of timers) {
      timer.cancel();
    }
    return isInTime;
  }

  stats(): EventRecorderStats {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  #seriesOf(resource: StoredIdentity, event: ResourceEvent): Series {
    const nowMs = this.#options.clock.nowMs();
    // Of the text, which would be held for as long as the series is remembered.
    const id = hash(
      "sha256",
      JSON.stringify([resource.uid, event.type, event.reason, event.action, event.note]),
      "base64",
    );
    const known = this.#series.get(id);
    // Reinserted at the end: the map is in the order of last use, and the least used is forgotten first.
    this.#series.delete(id);
    const isContinued = known !== undefined && nowMs - known.lastMs < seriesMs;
    const series = isContinued ? known : this.#newSeries(id, resource, event);
    this.#series.set(id, series);
    if (this.#series.size > seriesCapacity) {
      const oldest = this.#series.keys().next().value;
      this.#series.delete(oldest ?? "");
    }
    return series;
  }

  #newSeries(id: string, resource: StoredIdentity, event: ResourceEvent): Series {
    const nowMs = this.#options.clock.nowMs();
    const { key, uid, resourceVersion } = resource;
    const name = eventName(key.name, this.#random);
    // Not the object itself: with its whole status it would be held for as long as the series is remembered.
    return {
      id,
      resource: { key, uid, resourceVersion },
      event,
      firstMs: nowMs,
      name,
      count: 0,
      lastMs: nowMs,
      sentCount: 0,
      isQueued: false,
    };
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.size > 0) {
      await this.#pace.turn();
      // Only now: what is most urgent may have come meanwhile.
      const series = this.#queue.takeNext();
      if (series !== undefined) {
        series.isQueued = false;
        await this.#sendWithRetries(series);
      }
    }
    // At the very moment the queue was found empty: what is recorded a microtask later must not count on this run.
    this.#sending = undefined;
  }

  async #sendWithRetries(series: Series): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#send(series);
        return;
      } catch (error) {
        if (attempt >= maxAttempts || !isWorthRetrying(error)) {
          this.#lose(series, error);
          return;
        }
        const askedMs = error instanceof KubernetesError ? (error.retryAfterMs ?? 0) : 0;
        await this.#sleep(Math.max(retryDelayMs * attempt, Math.min(askedMs, callTimeoutMs)));
      }
    }
  }

  #drop(series: Series | undefined): void {
    if (series !== undefined) {
      this.#dropped += series.count - series.sentCount;
      this.#series.delete(series.id);
    }
  }

  #dropAll(): void {
    for (const series of this.#queue.clear()) {
      this.#drop(series);
    }
  }

  #lose(series: Series, error: unknown): void {
    const { namespace, name } = series.resource.key;
    this.#drop(series);
    this.#options.logger.warn({ namespace, name, eventReason: series.event.reason, err: error }, "an event was lost");
  }

  async #send(series: Series): Promise<void> {
    const { count } = series;
    const isRepeat = series.sentCount > 0;
    try {
      await (isRepeat ? this.#patchSeries(series) : this.#create(series));
    } catch (error) {
      if (isRepeat && error instanceof KubernetesError && error.reason === "NotFound") {
        // The API server forgets events after an hour or so.
        series.name = eventName(series.resource.key.name, this.#random);
        await this.#create(series);
      } else {
        throw error;
      }
    }
    this.#sent += count - series.sentCount;
    series.sentCount = count;
  }

  async #create(series: Series): Promise<void> {
    const { namespace } = series.resource.key;
    try {
      await this.#request({
        method: "POST",
        path: eventsPath(namespace),
        contentType: "application/json",
        body: newEventBody(series, this.#options.instance),
      });
    } catch (error) {
      // Only an earlier attempt of ours can have made one of this name.
      if (!(error instanceof KubernetesError && error.reason === "Conflict")) {
        throw error;
      }
    }
  }

  async #patchSeries(series: Series): Promise<void> {
    const path = eventsPath(series.resource.key.namespace, series.name);
    const contentType = "application/merge-patch+json";
    await this.#request({ method: "PATCH", path, contentType, body: seriesPatchBody(series) });
  }

  async #request(call: {
    readonly method: "POST" | "PATCH";
    readonly path: string;
    readonly contentType: string;
    readonly body: unknown;
  }): Promise<void> {
    const { permit, connection } = this.#options;
    if (!permit.mayStartEffect(callTimeoutMs)) {
      throw new EffectNotPermittedError();
    }
    await connection.request({ what: "record an event", timeoutMs: callTimeoutMs, permit, ...call });
  }

  async #sleep(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options.clock.after(delayMs, resolve);
    await promise;
  }
}

function isWorthRetrying(error: unknown): boolean {
  return error instanceof KubernetesError && ["Unavailable", "Throttled", "TimedOut"].includes(error.reason);
}
