import type { Clock } from "../../domain/clock.ts";
import { KubernetesError } from "../../domain/resource-store.ts";
import { createCallDeadline, onAbort } from "../../http/call-deadline.ts";
import { type KubernetesConnection, withRequest } from "./connection.ts";

interface RequestLimitOptions {
  readonly clock: Clock;
  readonly size: number;
}

/** A request that has not been sent by then fails, in milliseconds. */
const longestWaitMs = 60_000;

/** A semaphore. Requests wait in one line, first come, first served. */
export class RequestLimit {
  readonly #options: RequestLimitOptions;
  readonly #line = new Set<() => void>();
  #inFlight = 0;

  constructor(options: RequestLimitOptions) {
    this.#options = options;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get isFull(): boolean {
    return this.#inFlight >= this.#options.size;
  }

  /** Waits in the line, and takes nothing: new work begins only when the requests of begun work have been sent. */
  async turn(): Promise<void> {
    if (this.isFull) {
      await new Promise<void>((resolve) => this.#line.add(resolve));
      this.#leave();
    }
  }

  /**
   * Returns the connection with its requests limited. Streams do not count, because they stay open for minutes. The wait
   * does not count for the time limit of a call.
   */
  limit(connection: KubernetesConnection): KubernetesConnection {
    return withRequest(connection, async (call) => {
      await this.#enter(call);
      try {
        return await connection.request(call);
      } finally {
        this.#leave();
      }
    });
  }

  /** @throws KubernetesError when the signal fires, or the wait is too long. The request was not sent then. */
  async #enter({ what, signal }: { readonly what: string; readonly signal?: AbortSignal | undefined }): Promise<void> {
    if (!this.isFull) {
      this.#inFlight += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#line.add(resolve);
    const deadline = createCallDeadline(this.#options.clock, longestWaitMs, [signal]);
    onAbort(deadline.signal, () => {
      if (this.#line.delete(resolve)) {
        reject(new KubernetesError("TimedOut", `cannot ${what}: too many other requests wait`));
      }
    });
    try {
      await promise;
    } finally {
      deadline.end();
    }
  }

  #leave(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#inFlight -= 1;
      return;
    }
    this.#line.delete(next);
    next();
  }
}
