/** Shares what is limited: a waiting line whose groups take turns, and a token bucket. */
import type { Clock } from "../domain/clock.ts";

export interface LineEntry {
  /** The id of the entry, unique in its line. */
  readonly id: string;
  readonly group: string;
}

/** Groups take turns, so that no entry waits behind a whole burst of another group. */
export class FairLine<Entry extends LineEntry> {
  /** The groups in the order of their turns. No group is empty. */
  readonly #groups = new Map<string, Map<string, Entry>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get({ group, id }: LineEntry): Entry | undefined {
    return this.#groups.get(group)?.get(id);
  }

  /** Adds an entry at the end of its group, unless it waits already. A new group gets its turn after all others. */
  join(entry: Entry): void {
    if (this.get(entry) !== undefined) {
      return;
    }
    const members = this.#groups.get(entry.group) ?? new Map<string, Entry>();
    members.set(entry.id, entry);
    this.#groups.set(entry.group, members);
    this.#size++;
  }

  /** Removes an entry from any place in the line, and returns it; `undefined`: it was not in the line. */
  leave({ group, id }: LineEntry): Entry | undefined {
    const members = this.#groups.get(group);
    const entry = members?.get(id);
    if (members === undefined || entry === undefined) {
      return undefined;
    }
    members.delete(id);
    this.#size--;
    if (members.size === 0) {
      this.#groups.delete(group);
    }
    return entry;
  }

  /** Takes the first entry of the group whose turn it is; `undefined`: the line is empty. */
  takeNext(): Entry | undefined {
    for (const [group, members] of this.#groups) {
      for (const entry of members.values()) {
        this.leave(entry);
        if (this.#groups.delete(group)) {
          this.#groups.set(group, members);
        }
        return entry;
      }
    }
    return undefined;
  }

  clear(): void {
    this.#groups.clear();
    this.#size = 0;
  }
}

export interface TokenBucketOptions {
  readonly clock: Pick<Clock, "monotonicMs">;
  /** The maximum number of saved tokens. At least 1. */
  readonly capacity: number;
  /** The number of tokens added per second. More than 0. */
  readonly perSecond: number;
  /** The number of tokens at the start. @default capacity */
  readonly initial?: number;
}

/** A token bucket on the monotonic clock: in any interval of t seconds it gives at most `capacity + perSecond × t` tokens. */
export class TokenBucket {
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #atMs: number;

  constructor(options: TokenBucketOptions) {
    this.#options = options;
    this.#tokens = options.initial ?? options.capacity;
    this.#atMs = options.clock.monotonicMs();
  }

  tryTake(): boolean {
    this.#refill();
    if (this.#tokens < 1) {
      return false;
    }
    this.#tokens -= 1;
    return true;
  }

  /** Returns the milliseconds until there is a token, rounded up; 0 if there is one now. */
  waitMs(): number {
    this.#refill();
    return Math.max(0, Math.ceil(((1 - this.#tokens) / this.#options.perSecond) * 1_000));
  }

  #refill(): void {
    const { clock, capacity, perSecond } = this.#options;
    const nowMs = clock.monotonicMs();
    this.#tokens = Math.min(capacity, this.#tokens + ((nowMs - this.#atMs) / 1_000) * perSecond);
    this.#atMs = nowMs;
  }
}
