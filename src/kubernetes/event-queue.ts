/** What waits to be sent. */
export interface QueuedEvent {
  readonly event: { readonly type: "Normal" | "Warning" };
}

/**
 * Events that wait, in their order, warnings before all others: after a burst an error must not stand behind a thousand
 * lines of good news. What does not fit any more is lost, good news first.
 */
export class EventQueue<Item extends QueuedEvent> {
  readonly #capacity: number;
  readonly #lines: Readonly<Record<"Warning" | "Normal", Item[]>> = { Warning: [], Normal: [] };

  /** @param capacity most that wait. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#lines.Warning.length + this.#lines.Normal.length;
  }

  /** Answers what is lost: the newest good news for a warning, else the one that came; `undefined`: there was room. */
  join(item: Item): Item | undefined {
    const { Warning: warnings, Normal: news } = this.#lines;
    if (this.size < this.#capacity) {
      this.#lines[item.event.type].push(item);
      return undefined;
    }
    if (item.event.type === "Normal" || news.length === 0) {
      return item;
    }
    warnings.push(item);
    return news.pop();
  }

  takeNext(): Item | undefined {
    return this.#lines.Warning.shift() ?? this.#lines.Normal.shift();
  }

  /** Takes out whatever waits. */
  clear(): readonly Item[] {
    return [...this.#lines.Warning.splice(0), ...this.#lines.Normal.splice(0)];
  }
}
