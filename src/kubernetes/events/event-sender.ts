import type { Clock } from "../../domain/clock.ts";
import { type LeaderFence, LeaderFenceError } from "../../domain/leader-fence.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import type { KubernetesConnection } from "../http/connection.ts";
import { eventsPath } from "../http/paths.ts";
import { type EventContent, eventName, newEventBody, seriesPatchBody } from "./event-body.ts";

/** What an event sender needs. */
export interface EventSenderOptions {
  readonly connection: KubernetesConnection;
  readonly fence: LeaderFence;
  readonly clock: Clock;
  /** The name of this replica, for instance the name of the pod; at most 128 characters. */
  readonly instance: string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

const callTimeoutMs = 8_000;
const maxAttempts = 3;
const retryDelayMs = 1_000;

/** Writes events to the API server, with a few attempts for each. */
export class EventSender {
  readonly #options: EventSenderOptions;

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  /** A name for a new event. */
  nameFor(resourceName: string): string {
    return eventName(resourceName, this.#options.random);
  }

  /**
   * Creates the event, or raises the count of the event with this name.
   *
   * @returns the name of the event: another one if the API server had deleted the old event.
   * @throws KubernetesError when the last attempt fails or another one would not help; LeaderFenceError
   */
  async send(content: EventContent, isRepeat: boolean): Promise<string> {
    if (!isRepeat) {
      return await this.#create(content);
    }
    try {
      await this.#patch(content);
      return content.name;
    } catch (error) {
      // The API server deletes events after about an hour.
      if (error instanceof KubernetesError && error.reason === "NotFound") {
        return await this.#create({ ...content, name: this.nameFor(content.resource.key.name) });
      }
      throw error;
    }
  }

  async #create(content: EventContent): Promise<string> {
    const path = eventsPath(content.resource.key.namespace);
    const body = newEventBody(content, this.#options.instance);
    try {
      await this.#request({ method: "POST", path, contentType: "application/json", body });
    } catch (error) {
      // Only an earlier attempt of ours can have created an event with this name.
      if (!(error instanceof KubernetesError && error.reason === "Conflict")) {
        throw error;
      }
    }
    return content.name;
  }

  async #patch(content: EventContent): Promise<void> {
    const path = eventsPath(content.resource.key.namespace, content.name);
    const contentType = "application/merge-patch+json";
    await this.#request({ method: "PATCH", path, contentType, body: seriesPatchBody(content) });
  }

  async #request(call: {
    readonly method: "POST" | "PATCH";
    readonly path: string;
    readonly contentType: string;
    readonly body: unknown;
  }): Promise<void> {
    const { fence, connection } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      if (!fence.mayStartEffect(callTimeoutMs)) {
        throw new LeaderFenceError();
      }
      try {
        await connection.request({ what: "record an event", timeoutMs: callTimeoutMs, fence, ...call });
        return;
      } catch (error) {
        if (attempt >= maxAttempts || !isWorthRetrying(error)) {
          throw error;
        }
        await this.#sleep(Math.max(retryDelayMs * attempt, Math.min(error.retryAfterMs ?? 0, callTimeoutMs)));
      }
    }
  }

  async #sleep(delayMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#options.clock.after(delayMs, resolve);
    await promise;
  }
}

function isWorthRetrying(error: unknown): error is KubernetesError {
  return error instanceof KubernetesError && ["Unavailable", "Throttled", "TimedOut"].includes(error.reason);
}
