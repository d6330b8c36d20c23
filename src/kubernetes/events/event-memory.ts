import type { Clock, Timer } from "../../domain/clock.ts";

/** A sent event. Its count goes up when the same event is recorded again. */
export interface SentEvent {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  /** The count that the API server has. */
  readonly count: number;
}

/** The limits of the memory. */
export interface EventMemoryOptions {
  readonly clock: Clock;
  /** An event that was sent longer ago is not returned any more, and removed soon. */
  readonly forMs: number;
  /** The maximum number of events; the oldest go first. */
  readonly capacity: number;
}

interface Entry extends SentEvent {
  /** Monotonic. */
  readonly sentAtMs: number;
}

const sweepEveryMs = 60_000;

/** The events that were sent lately, by id. A process at rest holds none. */
export class EventMemory {
  readonly #options: EventMemoryOptions;
  /** In the order in which they were sent. */
  readonly #entries = new Map<string, Entry>();
  #sweep: Timer | undefined;

  constructor(options: EventMemoryOptions) {
    this.#options = options;
  }

  /** `undefined` when it was not sent, or was sent too long ago. */
  recall(id: string): SentEvent | undefined {
    const entry = this.#entries.get(id);
    return entry === undefined || this.#isOld(entry) ? undefined : entry;
  }

  remember(id: string, { name, firstMs, count }: SentEvent): void {
    this.#entries.delete(id);
    this.#entries.set(id, { name, firstMs, count, sentAtMs: this.#options.clock.monotonicMs() });
    if (this.#entries.size > this.#options.capacity) {
      this.#entries.delete(this.#entries.keys().next().value ?? "");
    }
    this.#sweep ??= this.#sweepLater();
  }

  /** The number of events. */
  get size(): number {
    return this.#entries.size;
  }

  /** Cancels the timer until an event is remembered again. */
  pause(): void {
    this.#sweep?.cancel();
    this.#sweep = undefined;
  }

  #sweepLater(): Timer {
    return this.#options.clock.after(sweepEveryMs, () => {
      for (const [id, entry] of this.#entries) {
        if (!this.#isOld(entry)) {
          break;
        }
        this.#entries.delete(id);
      }
      this.#sweep = this.#entries.size > 0 ? this.#sweepLater() : undefined;
    });
  }

  #isOld({ sentAtMs }: Entry): boolean {
    return this.#options.clock.monotonicMs() - sentAtMs >= this.#options.forMs;
  }
}
