/** The operations that are read by id until they end, because a list may not show them any more. */

/** Times are monotonic milliseconds. */
interface Awaited {
  readonly sinceMs: number;
  readonly askedMs: number | undefined;
  /** Since when no read has shown the operation; `undefined`: the last read showed it. */
  readonly unshownSinceMs: number | undefined;
  readonly isLost: boolean;
}

/** The longest pause between two reads by id of one operation, in milliseconds. The pause grows up to this. */
const longestPauseMs = 600_000;

/** The maximum number of operations of one project that are kept in memory, and of those that are read by id. */
export const mostKept = 10_000;

/** How long the operator waits for an operation that no read shows, in milliseconds. */
const missingGraceMs = 60_000;

/** The operations that are read by id until they end. A process that forgets them learns them again from status. */
export class AwaitedOperations {
  readonly #maxPolls: number;
  /** By id. The operation whose last read by id is the oldest comes first. */
  readonly #awaited = new Map<string, Awaited>();

  /** @param maxPolls the maximum number of operations that one read asks for by id */
  constructor(maxPolls: number) {
    this.#maxPolls = maxPolls;
  }

  get ids(): readonly string[] {
    return [...this.#awaited.keys()];
  }

  add(id: string, nowMs: number): void {
    if (!this.#awaited.has(id) && this.#awaited.size < mostKept) {
      this.#awaited.set(id, { sinceMs: nowMs, askedMs: undefined, unshownSinceMs: undefined, isLost: false });
    }
  }

  delete(id: string): void {
    this.#awaited.delete(id);
  }

  /**
   * Returns the ids to read now, at most `maxPolls`, the one that was not read for the longest time first. Operations
   * that this read's list has shown are left out.
   */
  takeDue(listedIds: ReadonlySet<string>, nowMs: number): readonly string[] {
    const due = [...this.#awaited].filter(([id, awaited]) => !listedIds.has(id) && isDue(awaited, nowMs));
    const taken = due.slice(0, this.#maxPolls);
    for (const [id, awaited] of taken) {
      this.#awaited.delete(id);
      this.#awaited.set(id, { ...awaited, askedMs: nowMs });
    }
    return taken.map(([id]) => id);
  }

  noteShown(id: string): void {
    this.#replace(id, { unshownSinceMs: undefined, isLost: false });
  }

  /** Notes that a read by id was answered 404, or failed. @returns whether the operation is lost from now on */
  noteUnshown(id: string, nowMs: number): boolean {
    const before = this.#awaited.get(id);
    const unshownSinceMs = before?.unshownSinceMs ?? nowMs;
    const isLost = nowMs - unshownSinceMs >= missingGraceMs;
    this.#replace(id, { unshownSinceMs, isLost });
    return isLost && before?.isLost === false;
  }

  /** Whether no read has shown the operation for `missingGraceMs`. No resource waits for it then. */
  isLost(id: string): boolean {
    return this.#awaited.get(id)?.isLost === true;
  }

  #replace(id: string, change: Partial<Awaited>): void {
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) {
      this.#awaited.set(id, { ...awaited, ...change });
    }
  }
}

function isDue({ sinceMs, askedMs }: Awaited, nowMs: number): boolean {
  return askedMs === undefined || nowMs - askedMs >= Math.min(longestPauseMs, (askedMs - sinceMs) / 10);
}
