/** The unfinished operations that the operator reads by id. */

/** What this process remembers of an operation that it reads by id. Times are monotonic milliseconds. */
interface Waited {
  readonly sinceMs: number;
  askedMs: number | undefined;
  /** Since when no read has shown the operation; `undefined`: the last read showed it. */
  unshownSinceMs: number | undefined;
  /** Whether the last read by id failed. */
  isFailing: boolean;
  /**
   * True: no read has shown the operation for too long, so the operator does not wait for it. A failing read is still
   * repeated.
   */
  isLost: boolean;
}

/** The limits for reading operations by id. */
export interface WaitedOptions {
  /** The maximum number of operations in one read. */
  readonly maxPolls: number;
  /** The maximum number of operations that are waited for at the same time. */
  readonly mostKept: number;
  readonly missingGraceMs: number;
}

/**
 * The maximum number of remembered ids of operations that do not exist. If the operator forgot them, a resource that
 * waits for such an operation would cause the same read again and again.
 */
const mostGone = 1_000;

/**
 * The longest pause between two reads of one operation by id, in milliseconds. The pause grows with the time the
 * operator has waited.
 */
const longestPauseMs = 600_000;

/**
 * The unfinished operations of one project. The operator reads them by id while no list shows them.
 * An operation that no read shows for `missingGraceMs` is lost. If it does not exist, it is forgotten. If its read
 * fails, it is read again with growing pauses.
 */
export class WaitedOperations {
  readonly #options: WaitedOptions;
  /** The operations in the order of their next read: the one that was not read for the longest time comes first. */
  readonly #waited = new Map<string, Waited>();
  readonly #goneIds = new Set<string>();

  constructor(options: WaitedOptions) {
    this.#options = options;
  }

  add(id: string, nowMs: number): void {
    const isKnown = this.#waited.has(id) || this.#goneIds.has(id);
    if (!isKnown && this.#waited.size < this.#options.mostKept) {
      const blank = { askedMs: undefined, unshownSinceMs: undefined, isFailing: false, isLost: false };
      this.#waited.set(id, { sinceMs: nowMs, ...blank });
    }
  }

  forget(id: string): void {
    this.#waited.delete(id);
  }

  /** Notes that a list or a read by id has shown the operation. */
  seen(id: string): void {
    this.#goneIds.delete(id);
    const waited = this.#waited.get(id);
    if (waited !== undefined) {
      waited.unshownSinceMs = undefined;
      waited.isFailing = false;
      waited.isLost = false;
    }
  }

  /**
   * Returns the ids to read now, the one that was not read for the longest time first. Operations that this read's list
   * has shown are left out.
   */
  takeDue(seenIds: ReadonlySet<string>, nowMs: number): readonly string[] {
    const due = [...this.#waited].filter(([id, waited]) => !seenIds.has(id) && isDue(waited, nowMs));
    const taken = due.slice(0, this.#options.maxPolls);
    for (const [id, waited] of taken) {
      waited.askedMs = nowMs;
      this.#waited.delete(id);
      this.#waited.set(id, waited);
    }
    return taken.map(([id]) => id);
  }

  /** Notes that a read by id was answered 404. @returns whether the operator gives up on the operation now. */
  missing(id: string, nowMs: number): boolean {
    const isGivenUp = this.#unshown(id, nowMs, false);
    if (isGivenUp) {
      this.#waited.delete(id);
      this.#goneIds.add(id);
      const [longestGone = id] = this.#goneIds;
      if (this.#goneIds.size > mostGone) {
        this.#goneIds.delete(longestGone);
      }
    }
    return isGivenUp;
  }

  /**
   * Notes that a read by id failed or could not be parsed. @returns whether the operator stops waiting for the
   * operation now.
   */
  failed(id: string, nowMs: number): boolean {
    return this.#unshown(id, nowMs, true);
  }

  pendingIds(): Iterable<string> {
    return this.#waited.keys();
  }

  failingIds(): readonly string[] {
    return [...this.#waited].filter(([, { isFailing }]) => isFailing).map(([id]) => id);
  }

  lostIds(): ReadonlySet<string> {
    return new Set([...this.#waited].filter(([, { isLost }]) => isLost).map(([id]) => id));
  }

  #unshown(id: string, nowMs: number, isFailing: boolean): boolean {
    const waited = this.#waited.get(id);
    if (waited === undefined) {
      return false;
    }
    waited.unshownSinceMs ??= nowMs;
    waited.isFailing = isFailing;
    const isLost = nowMs - waited.unshownSinceMs >= this.#options.missingGraceMs;
    const isNewlyLost = isLost && !waited.isLost;
    waited.isLost = isLost;
    return isNewlyLost;
  }
}

function isDue({ sinceMs, askedMs }: Waited, nowMs: number): boolean {
  return askedMs === undefined || nowMs - askedMs >= Math.min(longestPauseMs, (askedMs - sinceMs) / 10);
}
