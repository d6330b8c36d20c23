/** Reads the operations of one project from the control plane, as far back as its resources need them. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane, OperationPage } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { compareNewestFirst, isInFlight, type Operation, outcomeOf } from "../domain/operation.ts";

type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

export interface ProjectOperationsOptions {
  readonly clock: Clock;
  /** The number of operations on the first page. While little happens, no other page is read. @default 50 */
  readonly pageSize?: number;
  readonly maxPages?: number;
  /** Called for each part of the log that a resource needed and that was not read. @default nothing */
  readonly onGap?: (gap: { readonly fromMs: number; readonly untilMs: number }) => void;
}

const largestPage = 1_000;

const maxPolls = 20;

/** The part of its project's operation log that one resource needs. */
export interface HistoryRange {
  /** It needs every operation that was created after this time; epoch milliseconds. */
  readonly floorMs: number;
  /** Ids of unfinished operations. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
}

/** Clocks of the control plane's machines differ by less than this, and so do the times of neighbours in the list. */
const listDisorderMs = 10_000;

/** How long the operator waits for an operation that no read shows, in milliseconds. */
const missingGraceMs = 60_000;

const mostKept = 10_000;

/** An unfinished operation. Times are monotonic milliseconds. */
interface Awaited {
  readonly sinceMs: number;
  readonly askedMs: number;
  readonly shownMs: number;
}

/**
 * The operation log of one project, as this process knows it. If it is forgotten, the next read goes back to the floors
 * of the resources again. A read lists pages, newest first, until it reaches what the read before has shown, and each
 * floor. It reads unfinished operations by id that the pages do not show.
 */
export class ProjectOperations {
  readonly #options: Required<ProjectOperationsOptions>;
  readonly #known = new Map<string, Operation>();
  /** By id, the one first whose last read by id is the oldest. A process that forgets them learns them from status. */
  readonly #awaited = new Map<string, Awaited>();
  /** Every listed operation since this time is known, or was reported in a gap. */
  #reachMs = Number.POSITIVE_INFINITY;
  #newestListedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ProjectOperationsOptions) {
    this.#options = { pageSize: 50, maxPages: 10, onGap: () => {}, ...options };
  }

  /**
   * Reads the new part of the log.
   * @param ranges what the resources of the project need that have a watermark.
   * @throws ControlPlaneError when a list fails; the operations that were known before stay known.
   */
  async read(source: OperationSource, projectId: string, ranges: readonly HistoryRange[]): Promise<OperationsSnapshot> {
    const nowMs = this.#options.clock.monotonicMs();
    for (const id of ranges.flatMap(({ unfinishedIds }) => unfinishedIds)) {
      if (!this.#known.has(id)) {
        this.#await(id, nowMs);
      }
    }
    const listed = await this.#list(source, projectId, this.#neededSinceMs(ranges));
    this.noteAnswer(listed);
    const dueIds = this.#takeDue(new Set(listed.map(({ id }) => id)));
    await Promise.all(dueIds.map((id) => this.#readById(source, projectId, id)));
    const snapshot = this.snapshot();
    this.#prune(ranges, snapshot);
    return snapshot;
  }

  /** Returns what is known. An operation that no read has shown for a minute is left out: no resource waits for it. */
  snapshot(): OperationsSnapshot {
    const isLost = ({ askedMs, shownMs }: Awaited) => askedMs - shownMs >= missingGraceMs;
    const lostIds = new Set([...this.#awaited].filter(([, each]) => isLost(each)).map(([id]) => id));
    const unseenIds = [...this.#awaited.keys()].filter((id) => !this.#known.has(id) && !lostIds.has(id));
    const operations = [...this.#known.values()].filter(({ id }) => !lostIds.has(id));
    return createSnapshot(operations, new Set(unseenIds));
  }

  /** Adds operations that the answer to a read or a write named. Later reads ask for those in flight by id. */
  noteAnswer(operations: readonly Operation[]): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const operation of operations) {
      const before = this.#known.get(operation.id);
      const known = before === undefined || isBelieved(before, operation) ? operation : before;
      this.#known.set(operation.id, known);
      if (isInFlight(known)) {
        this.#await(known.id, nowMs, { shownMs: nowMs });
      } else {
        this.#awaited.delete(known.id);
      }
    }
  }

  #await(id: string, nowMs: number, change: Partial<Awaited> = {}): void {
    const begun = { sinceMs: nowMs, askedMs: Number.NEGATIVE_INFINITY, shownMs: nowMs };
    this.#awaited.set(id, { ...(this.#awaited.get(id) ?? begun), ...change });
  }

  /**
   * Returns the ids to read now, at most `maxPolls`, without those that the list has shown. The pause between two reads
   * of an operation is a tenth of the time that it is awaited already.
   */
  #takeDue(listedIds: ReadonlySet<string>): readonly string[] {
    const nowMs = this.#options.clock.monotonicMs();
    const isDue = ({ sinceMs, askedMs }: Awaited) => nowMs - askedMs >= (askedMs - sinceMs) / 10;
    const due = [...this.#awaited].filter(([id, awaited]) => !listedIds.has(id) && isDue(awaited));
    const taken = due.slice(0, maxPolls);
    for (const [id, awaited] of taken) {
      this.#awaited.delete(id);
      this.#awaited.set(id, { ...awaited, askedMs: nowMs });
    }
    return taken.map(([id]) => id);
  }

  #neededSinceMs(ranges: readonly HistoryRange[]): number {
    const newestMs = Number.isFinite(this.#newestListedMs) ? this.#newestListedMs : this.#reachMs;
    return Math.min(newestMs, ...ranges.map(({ floorMs }) => floorMs).filter((floorMs) => floorMs + 1 < this.#reachMs));
  }

  /**
   * Lists operations page by page, newest first, back to a time. If a page cannot be read, nothing of the run is used,
   * because half a list would look complete. @throws ControlPlaneError
   */
  async #list(source: OperationSource, projectId: string, sinceMs: number): Promise<readonly Operation[]> {
    const { pageSize, maxPages, onGap } = this.#options;
    const operations: Operation[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const limit = Math.min(pageSize * 4 ** page, largestPage);
      const answer = await source.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
      operations.push(...answer.operations);
      if (this.#isLast(answer, limit, cursor)) {
        return this.#noteListed(operations, Number.NEGATIVE_INFINITY);
      }
      const completeMs = createdMsOf(operations.at(-1)) + listDisorderMs;
      if (operations.length > 0 && completeMs <= sinceMs) {
        return this.#noteListed(operations, completeMs);
      }
      cursor = answer.cursor;
    }
    const untilMs = createdMsOf(operations.at(-1)) + listDisorderMs;
    if (Number.isFinite(sinceMs) && sinceMs < untilMs) {
      onGap({ fromMs: sinceMs, untilMs });
    }
    return this.#noteListed(operations, sinceMs);
  }

  /** Whether no page follows. Some control planes name a next page after the last one too. */
  #isLast(page: OperationPage, limit: number, cursor: string | undefined): boolean {
    const { operations, unreadableIds, cursor: next } = page;
    const count = operations.length + unreadableIds.length;
    const isRestKnown =
      count < limit && this.#reachMs === Number.NEGATIVE_INFINITY && this.#known.has(operations.at(-1)?.id ?? "");
    return count === 0 || next === undefined || next === cursor || isRestKnown;
  }

  #noteListed(operations: readonly Operation[], sinceMs: number): readonly Operation[] {
    this.#newestListedMs = operations.reduce((ms, each) => Math.max(ms, createdMsOf(each)), this.#newestListedMs);
    this.#reachMs = Math.min(this.#reachMs, sinceMs);
    return operations;
  }

  async #readById(source: OperationSource, projectId: string, id: string): Promise<void> {
    try {
      const answer = await source.getOperation(projectId, id);
      this.noteAnswer(answer === undefined ? [] : [answer]);
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) throw error;
    }
  }

  /** Forgets ended operations that no stored watermark needs, except those of the first page; beyond `mostKept`, any. */
  #prune(ranges: readonly HistoryRange[], { operations }: OperationsSnapshot): void {
    const unfinishedIds = new Set(ranges.flatMap((range) => range.unfinishedIds));
    const neededMs = Math.min(...ranges.map(({ floorMs }) => floorMs));
    for (const operation of operations.slice(this.#options.pageSize, mostKept)) {
      const createdMs = createdMsOf(operation);
      if (createdMs <= neededMs && !unfinishedIds.has(operation.id) && !isInFlight(operation)) {
        this.#known.delete(operation.id);
        this.#reachMs = Math.max(this.#reachMs, createdMs + 1);
      }
    }
    // The engine keeps ended operations until a stored status holds them, so these are still counted.
    for (const { id } of operations.slice(mostKept)) {
      this.#known.delete(id);
    }
    for (const id of this.#awaited.keys()) {
      if (!this.#known.has(id) && !unfinishedIds.has(id)) {
        this.#awaited.delete(id);
      }
    }
  }
}

export interface OperationsSnapshot {
  /** Newest first. Operations that cannot be found any more are left out. */
  readonly operations: readonly Operation[];
  /** The same operations by endpoint id, newest first. Operations without an endpoint have the key "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** Ids of operations that are awaited and that no read has shown yet. */
  readonly unseenIds: ReadonlySet<string>;
}

/** Makes a snapshot with indexes, so that the list is not searched once for each resource. */
export function createSnapshot(operations: readonly Operation[], unseenIds: ReadonlySet<string>): OperationsSnapshot {
  const newestFirst = [...operations].sort(compareNewestFirst);
  return {
    operations: newestFirst,
    byEndpoint: Map.groupBy(newestFirst, ({ endpointId }) => endpointId ?? ""),
    byId: new Map(newestFirst.map((each) => [each.id, each])),
    unseenIds,
  };
}

/** Returns epoch milliseconds. -Infinity: there is no operation. */
export function createdMsOf(created: { readonly createdTime: string } | undefined): number {
  return created === undefined ? Number.NEGATIVE_INFINITY : Date.parse(created.createdTime);
}

/**
 * Whether a later read of an operation counts. A succeeded operation stays so, and a failed one only becomes succeeded.
 * A list may be older than a read by id, and both may be older than the answer to a write.
 */
export function isBelieved(known: Pick<Operation, "status">, incoming: Pick<Operation, "status">): boolean {
  const outcome = outcomeOf(incoming);
  switch (outcomeOf(known)) {
    case "Succeeded":
      return outcome === "Succeeded";
    case "Failed":
      return outcome === "Succeeded" || outcome === "Failed";
    default:
      return true;
  }
}
