import type { KubernetesConnection } from "./connection.ts";

interface RequestLimitOptions {
  readonly size: number;
  readonly onChange?: (inFlight: number) => void;
}

/** A semaphore. Requests wait in one line, first come, first served. The time limit of each request keeps the line moving. */
export class RequestLimit {
  readonly #options: RequestLimitOptions;
  readonly #line = new Set<() => void>();
  #inFlight = 0;

  constructor(options: RequestLimitOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#inFlight >= this.#options.size;
  }

  /** Waits in the line, and takes nothing: new work begins only when the requests of begun work have been sent. */
  async turn(): Promise<void> {
    if (this.isFull) {
      await this.#enter();
      this.#leave();
    }
  }

  /**
   * Returns the connection with its requests limited. Streams do not count, because they stay open for minutes. The wait
   * does not count for the time limit of a call.
   */
  limit(connection: KubernetesConnection): KubernetesConnection {
    return {
      namespace: connection.namespace,
      request: async (call) => {
        await this.#enter();
        try {
          return await connection.request(call);
        } finally {
          this.#leave();
        }
      },
      openStream: (call) => connection.openStream(call),
      close: () => connection.close(),
    };
  }

  async #enter(): Promise<void> {
    if (this.isFull) {
      await new Promise<void>((resolve) => this.#line.add(resolve));
    } else {
      this.#setInFlight(this.#inFlight + 1);
    }
  }

  #leave(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#setInFlight(this.#inFlight - 1);
      return;
    }
    this.#line.delete(next);
    next();
  }

  #setInFlight(count: number): void {
    this.#inFlight = count;
    this.#options.onChange?.(count);
  }
}
