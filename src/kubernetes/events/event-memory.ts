import type { Clock, Timer } from "../../domain/clock.ts";

/** What has to be known of an event that was sent, so that it can be counted on when it is said again. */
export interface SentEvent {
  readonly name: string;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  /** How often it was said, as the API server has it. */
  readonly count: number;
}

/** How long, and of how many. */
export interface EventMemoryOptions {
  readonly clock: Clock;
  /** What was sent longer ago is not known any more, and soon not held either. */
  readonly forMs: number;
  /** More than these are not held; those sent longest ago go first. */
  readonly capacity: number;
}

interface Entry extends SentEvent {
  /** Monotonic. */
  readonly sentAtMs: number;
}

const sweepEveryMs = 60_000;

/** The events that were sent of late, by their ids. It must stay small: a process at rest holds nothing here. */
export class EventMemory {
  readonly #options: EventMemoryOptions;
  /** In the order in which they were sent. */
  readonly #entries = new Map<string, Entry>();
  #sweep: Timer | undefined;

  constructor(options: EventMemoryOptions) {
    this.#options = options;
  }

  /** `undefined` when it was not sent, or too long ago. */
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

  /** How many are held. */
  get size(): number {
    return this.#entries.size;
  }

  /** Sets no timer until something is remembered again. */
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
