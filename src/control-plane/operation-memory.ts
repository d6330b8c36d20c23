import { compareNewestFirst, isInFlight, isLater, type Operation } from "../domain/operation.ts";
import { createTextPool, type TextPool } from "../domain/text-pool.ts";

/** Bounds of what is remembered of one project. */
export interface OperationMemoryOptions {
  /** Ended operations kept, those that changed last. */
  readonly windowSize: number;
  /** Ended operations kept at most for whoever has not seen them yet. */
  readonly mostKept: number;
  /** How long an operation that nobody can find is waited for. */
  readonly missingGraceMs: number;
}

/** A part of a project's log that somebody needed and nobody read. Epoch milliseconds of the service's clock. */
export interface OperationLogGap {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** How far a run over the list went. */
export type RunEnd =
  /** To the last operation there is. */
  | "Exhausted"
  /** To what an earlier run has listed: together they go back as far as that one. */
  | "Linked"
  /** As far as was needed. */
  | "Sufficient"
  /** The bound of pages was met first. */
  | "CutShort";

/** Ids remembered of operations that nobody can find: whoever still waits for them asks again and again. */
const mostGone = 1_000;

/** Ids of the endpoints and branches of one project, and the words of its operations. */
const sharedTexts = 500;

/**
 * What is known of one project's operations: the newest ones, those that somebody has yet to see, all unfinished ones,
 * and the ids that must be asked for one by one as long as no list shows them.
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
  readonly #goneIds = new Set<string>();
  readonly #texts = createTextPool(sharedTexts);
  #hasListed = false;
  #newestListedTime: string | undefined;
  /** Everything that was created since is known; epoch milliseconds of the service's clock. */
  #reachMs = Number.POSITIVE_INFINITY;
  /** What was created before is out of reach for good: a gap has been told of. */
  #floorMs = Number.NEGATIVE_INFINITY;

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

  /** Creation time of the newest operation that a list has shown. */
  get newestListedTime(): string | undefined {
    return this.#newestListedTime;
  }

  /** From when on the list is to be read for somebody who needs it since `neededMs`: not beyond a known gap. */
  wantedMs(neededMs: number): number {
    return Math.max(neededMs, this.#floorMs);
  }

  /** Whether everything that is needed and lies behind the link of a run is known already. */
  reaches(neededMs: number | undefined): boolean {
    return neededMs === undefined || this.wantedMs(neededMs) >= this.#reachMs;
  }

  /**
   * Takes in what a run over the list showed. One that failed on the way must not come here: it would leave a gap.
   *
   * @param operations newest first.
   * @returns what was needed and lies beyond the run.
   */
  addListed(operations: readonly Operation[], end: RunEnd, neededMs: number | undefined): OperationLogGap | undefined {
    this.#hasListed = true;
    for (const operation of operations) {
      this.#listedIds.add(operation.id);
      this.add(operation);
      if (this.#newestListedTime === undefined || isLater(operation.createdTime, this.#newestListedTime)) {
        this.#newestListedTime = operation.createdTime;
      }
    }
    const oldest = operations.at(-1);
    if (end === "Exhausted") {
      this.#reachMs = Number.NEGATIVE_INFINITY;
    } else if (end !== "Linked" && oldest !== undefined) {
      this.#reachMs = justAfter(oldest);
    }
    return end === "CutShort" ? this.#giveUp(neededMs, this.#reachMs) : undefined;
  }

  /** Takes in what a read by id, or the answer to a write, said. */
  add(operation: Operation): void {
    const known = this.#known.get(operation.id);
    const latest = known === undefined ? operation : laterOf(known, operation);
    if (latest !== known) {
      this.#known.set(operation.id, withSharedTexts(latest, known?.id ?? operation.id, this.#texts));
    }
    this.#missingSinceMs.delete(operation.id);
    if (isInFlight(latest)) {
      this.#unfinishedIds.add(operation.id);
    } else {
      this.#unfinishedIds.delete(operation.id);
    }
  }

  /** Asks for an operation by id until it is seen to have ended. */
  expect(id: string): void {
    if (!this.#known.has(id) && !this.#goneIds.has(id)) {
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
      this.#goneIds.add(id);
      const [longestGone = id] = this.#goneIds;
      if (this.#goneIds.size > mostGone) {
        this.#goneIds.delete(longestGone);
      }
    }
  }

  /** Everything known, newest first. */
  newestFirst(): readonly Operation[] {
    return [...this.#known.values()].sort(compareNewestFirst);
  }

  /**
   * Drops what has ended and changed last before the window, save what somebody still needs to see.
   *
   * @returns what was needed and had to go all the same.
   */
  prune(neededMs: number | undefined): OperationLogGap | undefined {
    const { windowSize, mostKept } = this.#options;
    const wantedMs = neededMs === undefined ? Number.POSITIVE_INFINITY : this.wantedMs(neededMs);
    const beyondWindow = [...this.#known.values()]
      .filter((operation) => !isInFlight(operation))
      .map((operation) => ({ operation, updatedMs: Date.parse(operation.updatedTime) }))
      .sort((a, b) => b.updatedMs - a.updatedMs)
      .slice(windowSize);
    const room = Math.max(0, mostKept - windowSize);
    const isDropped = (updatedMs: number, index: number) => updatedMs < wantedMs || index >= room;
    const dropped = beyondWindow.filter(({ updatedMs }, index) => isDropped(updatedMs, index));
    for (const { operation } of dropped) {
      this.#reachMs = Math.max(this.#reachMs, justAfter(operation));
      this.#forget(operation.id);
    }
    const isMissed = dropped.some(({ updatedMs }) => updatedMs >= wantedMs);
    return isMissed ? this.#giveUp(neededMs, this.#reachMs) : undefined;
  }

  #giveUp(neededMs: number | undefined, untilMs: number): OperationLogGap | undefined {
    if (neededMs === undefined || this.wantedMs(neededMs) >= untilMs) {
      return undefined;
    }
    const fromMs = this.wantedMs(neededMs);
    this.#floorMs = untilMs;
    return { fromMs, untilMs };
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#listedIds.delete(id);
    this.#unfinishedIds.delete(id);
    this.#missingSinceMs.delete(id);
  }
}

/** Another operation of the same moment may not have been shown. */
function justAfter({ createdTime }: Operation): number {
  return Date.parse(createdTime) + 1;
}

/** Each answer is text of its own, and thousands of operations say the same few words. @param id the text that is held already */
function withSharedTexts(operation: Operation, id: string, { share }: TextPool): Operation {
  return {
    ...operation,
    id,
    projectId: share(operation.projectId),
    branchId: share(operation.branchId),
    endpointId: share(operation.endpointId),
    action: share(operation.action),
    status: share(operation.status),
  };
}

/** By the service's own clock; at the same moment work that has ended is the later news. */
function laterOf(known: Operation, incoming: Operation): Operation {
  const lead = Date.parse(incoming.updatedTime) - Date.parse(known.updatedTime);
  if (lead === 0) {
    return isInFlight(incoming) && !isInFlight(known) ? known : incoming;
  }
  return lead > 0 ? incoming : known;
}
