import { compareNewestFirst, isInFlight, type Operation } from "../domain/operation.ts";

/** Bounds of what is remembered of one project. */
export interface OperationMemoryOptions {
  /** Ended operations kept, newest first. */
  readonly windowSize: number;
  /** How long an operation that nobody can find is waited for. */
  readonly missingGraceMs: number;
}

/**
 * What is known of one project's operations: the newest ones, all unfinished ones, and the ids that must be asked for
 * one by one as long as no list shows them.
 *
 * Knowledge of an operation never goes back: a list may lag behind a read by id, and an answer to a write behind both.
 */
export class OperationMemory {
  readonly #options: OperationMemoryOptions;
  readonly #known = new Map<string, Operation>();
  readonly #listedIds = new Set<string>();
  /** In the order in which they should be asked for: the longest not asked first. */
  readonly #unfinishedIds = new Set<string>();
  readonly #missingSinceMs = new Map<string, number>();
  #hasListed = false;

  constructor(options: OperationMemoryOptions) {
    this.#options = options;
  }

  /** Whether a run over the list has ever been completed, even one that showed nothing. */
  get hasListed(): boolean {
    return this.#hasListed;
  }

  /** Whether an earlier list showed this operation: whatever is older has then been seen too. */
  wasListed(id: string): boolean {
    return this.#listedIds.has(id);
  }

  /** Takes in what a complete run over the list showed. An incomplete one must not come here: it would leave a gap. */
  addListed(operations: readonly Operation[]): void {
    this.#hasListed = true;
    for (const operation of operations) {
      this.#listedIds.add(operation.id);
      this.add(operation);
    }
  }

  /** Takes in what a read by id, or the answer to a write, said. */
  add(operation: Operation): void {
    const known = this.#known.get(operation.id);
    const latest = known === undefined ? operation : laterOf(known, operation);
    this.#known.set(operation.id, latest);
    this.#missingSinceMs.delete(operation.id);
    if (isInFlight(latest)) {
      this.#unfinishedIds.add(operation.id);
    } else {
      this.#unfinishedIds.delete(operation.id);
    }
  }

  /** Asks for an operation by id until it is seen to have ended. */
  expect(id: string): void {
    if (!this.#known.has(id)) {
      this.#unfinishedIds.add(id);
    }
  }

  /** The unfinished operations that must be asked for by id, at most `limit`, the longest not asked first. */
  takeUnseen(seenIds: ReadonlySet<string>, limit: number): readonly string[] {
    const ids = [...this.#unfinishedIds].filter((id) => !seenIds.has(id)).slice(0, limit);
    for (const id of ids) {
      this.#unfinishedIds.delete(id);
      this.#unfinishedIds.add(id);
    }
    return ids;
  }

  /**
   * A read by id answered that there is no such operation. Answers may lag, so it is forgotten only after a grace time.
   *
   * @param nowMs monotonic milliseconds.
   */
  addMissing(id: string, nowMs: number): void {
    const sinceMs = this.#missingSinceMs.get(id) ?? nowMs;
    this.#missingSinceMs.set(id, sinceMs);
    if (nowMs - sinceMs >= this.#options.missingGraceMs) {
      this.#forget(id);
    }
  }

  /** Everything known, newest first. */
  newestFirst(): readonly Operation[] {
    return [...this.#known.values()].sort(compareNewestFirst);
  }

  /** Drops what has ended and lies behind the window. */
  prune(): void {
    for (const operation of this.newestFirst().slice(this.#options.windowSize)) {
      if (!isInFlight(operation)) {
        this.#forget(operation.id);
      }
    }
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#listedIds.delete(id);
    this.#unfinishedIds.delete(id);
    this.#missingSinceMs.delete(id);
  }
}

/** By the service's own clock; at the same moment work that has ended is the later news. */
function laterOf(known: Operation, incoming: Operation): Operation {
  const lead = Date.parse(incoming.updatedTime) - Date.parse(known.updatedTime);
  if (lead === 0) {
    return isInFlight(incoming) && !isInFlight(known) ? known : incoming;
  }
  return lead > 0 ? incoming : known;
}
