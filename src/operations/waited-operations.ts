/** What one process remembers of an operation that it asks for by id. Monotonic milliseconds. */
interface Waited {
  readonly sinceMs: number;
  askedMs: number | undefined;
  /** Since when no read has shown the operation; `undefined`: the last read did. */
  unshownSinceMs: number | undefined;
  /** The last read by id failed. */
  isFailing: boolean;
  /** No read has shown the operation for too long: nothing waits for it, but a failing read is repeated. */
  isLost: boolean;
}

/** Bounds of asking by id. */
export interface WaitedOptions {
  /** Operations asked for in one read. */
  readonly maxPolls: number;
  /** Operations waited for at once. */
  readonly mostKept: number;
  readonly missingGraceMs: number;
}

/** Ids remembered of operations that do not exist: a resource that still waits for one asks again and again. */
const mostGone = 1_000;

/** The pause between two reads of one operation by id grows with the time it has been waited for, up to this. */
const longestPauseMs = 600_000;

/**
 * The unfinished operations of one project, which are asked for by id as long as no list shows them.
 *
 * An operation that no read shows for `missingGraceMs` is lost: one that does not exist is forgotten; one whose read
 * fails is asked for again, with growing pauses.
 */
export class WaitedOperations {
  readonly #options: WaitedOptions;
  /** In the order in which they are asked for: the longest not asked first. */
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

  /** A list or a read by id has shown the operation. */
  seen(id: string): void {
    this.#goneIds.delete(id);
    const waited = this.#waited.get(id);
    if (waited !== undefined) {
      waited.unshownSinceMs = undefined;
      waited.isFailing = false;
      waited.isLost = false;
    }
  }

  /** The ids that are due, the longest not asked first; those that the list has shown in this read need no asking. */
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

  /** A read by id answered that the operation does not exist. @returns whether it is given up now. */
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

  /** A read by id failed, or its answer cannot be read. @returns whether nothing waits for the operation from now on. */
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
