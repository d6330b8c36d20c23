/** Writes one event to the API server. */
import type { Clock } from "../../domain/clock.ts";
import type { LeaderFence } from "../../domain/leader-fence.ts";
import { KubernetesError, type ResourceEvent, type StoredIdentity } from "../../domain/resource-store.ts";
import { pause } from "../../http/call-deadline.ts";
import { group, kind, version } from "../../resource/names.ts";
import type { KubernetesCall, KubernetesConnection } from "../http/connection.ts";
import { mergePatch, microTime, objectPath, writeObject } from "../http/objects.ts";

export interface EventSenderOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  readonly clock: Clock;
  /** The name of this replica, for instance the name of the pod; at most 128 characters. */
  readonly instance: string;
  readonly random: () => number;
}

const maxAttempts = 3;
const retryDelayMs = 1_000;
const longestDelayMs = 8_000;

export class EventSender {
  readonly #options: EventSenderOptions;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  nameFor(resourceName: string): string {
    return eventName(resourceName, this.#options.random);
  }

  /**
   * Creates the event, or if it is a repeat, raises the count of the event with this name.
   * @returns the name of the event: another one if the API server had deleted the old event.
   * @throws KubernetesError when the last attempt fails, or a further attempt would not help; LeaderFenceError when the
   *   fence refuses.
   */
  async send(content: EventContent, isRepeat: boolean): Promise<string> {
    if (!isRepeat) {
      return await this.#create(content);
    }
    try {
      const path = objectPath("events", placeOf(content), content.name);
      await this.#write({ path, ...mergePatch(seriesOf(content)) });
      return content.name;
    } catch (error) {
      // The API server has deleted the event. It does so after about an hour.
      if (error instanceof KubernetesError && error.reason === "NotFound") {
        return await this.#create({ ...content, name: this.nameFor(content.resource.key.name) });
      }
      throw error;
    }
  }

  async #create(content: EventContent): Promise<string> {
    const body = newEventBody(content, this.#options.instance);
    try {
      await this.#write({ method: "POST", path: objectPath("events", placeOf(content)), body });
    } catch (error) {
      // On a conflict, an earlier attempt of ours has created the event.
      if (!(error instanceof KubernetesError && error.reason === "Conflict")) {
        throw error;
      }
    }
    return content.name;
  }

  async #write(call: Pick<KubernetesCall, "method" | "path" | "body" | "contentType">): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await writeObject(this.#options, { what: "record an event", ...call });
        return;
      } catch (error) {
        if (attempt >= maxAttempts || !isWorthRetrying(error)) {
          throw error;
        }
        const delayMs = Math.max(retryDelayMs * attempt, Math.min(error.retryAfterMs ?? 0, longestDelayMs));
        await pause(this.#options.clock, delayMs, []);
      }
    }
  }
}

function isWorthRetrying(error: unknown): error is KubernetesError {
  return error instanceof KubernetesError && ["Unavailable", "Throttled", "TimedOut"].includes(error.reason);
}

/** `firstMs` and `lastMs`: when the event was first and last recorded, in epoch milliseconds. */
interface EventContent {
  readonly resource: StoredIdentity;
  readonly event: ResourceEvent;
  readonly name: string;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly count: number;
}

/** Returns the namespace of an event. Kubernetes keeps the events of objects without a namespace in `default`. */
function placeOf({ resource }: EventContent): string {
  return resource.key.namespace || "default";
}

const reportingController = "endpoint-operator";
/** The maximum lengths that the events API allows. */
const limits = { note: 1024, reason: 128, action: 128, instance: 128, name: 253 } as const;

/** Returns a unique name for an event: the name of the object, shortened, and 16 random hexadecimal digits. */
export function eventName(resourceName: string, random: () => number): string {
  const digits = Array.from({ length: 16 }, () => Math.floor(random() * 16).toString(16)).join("");
  // A part between dots must not end in a hyphen, and must not be empty.
  const start = resourceName.slice(0, limits.name - digits.length - 1).replace(/[-.]+$/, "");
  return `${start}.${digits}`;
}

function newEventBody(content: EventContent, instance: string): object {
  const { resource, event } = content;
  const { namespace, name } = resource.key;
  return {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { name: content.name, namespace: placeOf(content) },
    eventTime: microTime(content.firstMs),
    reportingController,
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
    ...(content.count > 1 ? seriesOf(content) : {}),
  };
}

/** Of an event that was recorded more than once. The API server refuses a series with the count 1. */
function seriesOf(content: EventContent) {
  return { series: { count: content.count, lastObservedTime: microTime(content.lastMs) } };
}

/** Shortens a note to the allowed number of bytes, because the API server counts bytes. */
function shorten(note: string): string {
  const bytes = Buffer.from(note.replaceAll(/\s+/g, " "), "utf8");
  if (bytes.length <= limits.note) {
    return bytes.toString("utf8");
  }
  // If the cut splits a character, the remaining bytes decode to a replacement character, which is removed.
  const cut = bytes
    .subarray(0, limits.note - 3)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
  return `${cut}…`;
}
