/** Remembers which events were sent recently. */
import type { Clock, Timer } from "../../domain/clock.ts";

/** A sent event. Its count goes up when the same event is recorded again. */
export interface SentEvent {
  readonly name: string;
  /** When the event was first sent, in epoch milliseconds. */
  readonly firstMs: number;
  /** The count that the API server has. */
  readonly count: number;
}

/** The limits of the memory. */
export interface EventMemoryOptions {
  readonly clock: Clock;
  /** How long a sent event is remembered, in milliseconds. */
  readonly forMs: number;
  /** The maximum number of remembered events. The oldest are forgotten first. */
  readonly capacity: number;
}

interface Entry extends SentEvent {
  /** When the event was sent, in monotonic milliseconds. */
  readonly sentAtMs: number;
}

const sweepEveryMs = 60_000;

/** The events that were sent recently, by id. When no events are sent for a while, it is empty. */
export class EventMemory {
  readonly #options: EventMemoryOptions;
  /** The entries in the order in which they were sent. */
  readonly #entries = new Map<string, Entry>();
  #sweep: Timer | undefined;

  constructor(options: EventMemoryOptions) {
    this.#options = options;
  }

  /** Returns the sent event with this id. `undefined`: it was not sent, or too long ago. */
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

  /** The number of remembered events. */
  get size(): number {
    return this.#entries.size;
  }

  /** Stops the timer until the next event is remembered. */
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
