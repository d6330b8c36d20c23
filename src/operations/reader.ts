/** Reads the operations of one project from the control plane, as far back as its resources need them. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError, resultOrError } from "../domain/control-plane-error.ts";
import { isInFlight, isLater, type Operation } from "../domain/operation.ts";
import { KnownOperations, type OperationsSnapshot } from "./known-operations.ts";
import type { HistoryRange } from "./watermark.ts";

type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

/** The limits for reading the operation log of one project, and functions to report operations that it cannot read. */
export interface ProjectOperationsOptions {
  readonly clock: Clock;
  /** The number of operations on the first page. While little happens, no other page is read. @default 50 */
  readonly pageSize?: number;
  /** The maximum number of operations on a page. Each page asks for four times as many as the one before. @default 1000 */
  readonly deepPageSize?: number;
  /** The maximum number of pages in one read. @default 10 */
  readonly maxPages?: number;
  /** The maximum number of operations that one read asks for by id. @default 20 */
  readonly maxPolls?: number;
  /** The number of ended operations that stay although every resource has used them. Not below `pageSize`. @default 50 */
  readonly windowSize?: number;
  /** The maximum number of ended operations in memory, and also of unfinished ones. @default 10000 */
  readonly mostKept?: number;
  /** How long the operator waits for an operation that no read shows, in milliseconds. @default 60000 */
  readonly missingGraceMs?: number;
  /** Called for each part of the log that a resource needed and that was not read. @default nothing */
  readonly onGap?: (gap: OperationLogGap) => void;
  /** Called once for each operation that the operator gave up on, because no read shows it. @default nothing */
  readonly onLost?: (operationId: string) => void;
}

/** A part of the log that a resource needed and that was not read; epoch milliseconds of the control plane's clock. */
export interface OperationLogGap {
  readonly fromMs: number;
  readonly untilMs: number;
}

interface OperationsRead {
  readonly projectId: string;
  /** The operation history ranges of all resources of the project that have a watermark. @see historyRangeOf */
  readonly ranges: readonly HistoryRange[];
  /** The last `Date` header, in epoch milliseconds of the control plane's clock; `undefined`: there was none. */
  readonly serviceTimeMs: number | undefined;
}

/**
 * Why a run ended. A run lists pages, newest first. `Exhausted`: it reached the end of the list. `Linked`: it reached
 * an operation of the run before, so the two have no gap. `Sufficient`: it reached as far back as the resources need.
 * `CutShort`: it listed the maximum number of pages.
 */
type RunEnd = "Exhausted" | "Linked" | "Sufficient" | "CutShort";

/** The result of one run over the list: operations in its order, newest first by the control plane's clock. */
interface Run {
  readonly operations: readonly Operation[];
  /** Ids of entries that cannot be parsed; "" if the id could not be read either. */
  readonly unreadableIds: readonly string[];
  readonly end: RunEnd;
}

/**
 * The part of the log that a resource needs, and the snapshot that it has used last. `used` is `undefined` until the
 * resource has used a snapshot of this process that reaches back to its watermark.
 */
interface ResourceUse {
  readonly range: HistoryRange;
  readonly used: { readonly revision: number; readonly sinceMs: number } | undefined;
}

/**
 * Operations in the list may stand in the wrong order if their times differ by less than this, in milliseconds. The
 * clocks of the control plane's machines differ.
 */
const listDisorderMs = 10_000;

/** The minimum interval between two runs that search for operations with earlier times, in milliseconds. */
const orderedRunEveryMs = 10_000;

/**
 * The operation log of one project, as this process knows it.
 *
 * A read lists pages, newest first, until it reaches what the previous read has shown. The first read goes back to the
 * oldest watermark of a resource, and so does the first read for a resource with an older watermark. Unfinished
 * operations that the pages do not show are then read by id. A failed read of one operation does not affect the others.
 * The reader keeps everything that a resource has not used yet, up to `mostKept`.
 */
export class ProjectOperations {
  readonly #options: Required<ProjectOperationsOptions>;
  readonly #known: KnownOperations;
  /** The resources of the project by uid. */
  #uses = new Map<string, ResourceUse>();
  /**
   * What the last run over the list showed; `undefined`: there was none. Times: epoch milliseconds of the control
   * plane's clock.
   */
  #lastRun: { readonly ids: ReadonlySet<string>; readonly oldestMs: number; readonly newestMs: number } | undefined;
  /** The last run that went back to `#backToMs`, and the time of the previous such run. Monotonic milliseconds. */
  #orderedRun: { readonly atMs: number; readonly previousAtMs: number; readonly serviceTimeMs: number } | undefined;
  #newestListedTime: string | undefined;
  /** Every listed operation since this time is known, epoch milliseconds of the control plane's clock. */
  #reachMs = Number.POSITIVE_INFINITY;
  /** The reader skips operations created before this time. It has reported them as a gap. */
  #floorMs = Number.NEGATIVE_INFINITY;

  constructor(options: ProjectOperationsOptions) {
    this.#options = {
      pageSize: 50,
      deepPageSize: 1_000,
      maxPages: 10,
      maxPolls: 20,
      windowSize: 50,
      mostKept: 10_000,
      missingGraceMs: 60_000,
      onGap: () => {},
      onLost: () => {},
      ...options,
    };
    this.#known = new KnownOperations(this.#options);
  }

  /**
   * Reads the new part of the log.
   * @throws ControlPlaneError when a list fails; the operations that were known before stay known.
   */
  async read(source: OperationSource, read: OperationsRead): Promise<OperationsSnapshot> {
    const { projectId, ranges, serviceTimeMs } = read;
    this.#uses = new Map(ranges.map((range) => [range.uid, { range, used: this.#uses.get(range.uid)?.used }]));
    this.prune();
    for (const id of ranges.flatMap(({ unfinishedIds }) => unfinishedIds)) {
      this.expect(id);
    }
    const backToMs = this.#backToMs(serviceTimeMs);
    const lastNewestMs = this.#lastRun?.newestMs ?? Number.POSITIVE_INFINITY;
    const run = await this.#list(source, projectId, backToMs);
    this.noteAnswer(run.operations);
    this.#noteRun(run);
    this.#noteOrderedRun(backToMs, serviceTimeMs);
    this.#giveUpBefore(run, lastNewestMs);
    const listedIds = new Set(run.operations.map(({ id }) => id));
    const dueIds = this.#known.takeDue(listedIds, this.#options.clock.monotonicMs());
    await Promise.all(dueIds.map((id) => this.#readById(source, projectId, id)));
    return this.#known.takeSnapshot({
      newestListedTime: this.#newestListedTime,
      reachMs: this.#reachMs,
      unreadableIds: run.unreadableIds,
    });
  }

  /** Adds operations that the answer to a read or a write named. */
  noteAnswer(operations: readonly Operation[]): void {
    for (const operation of operations) {
      this.#known.add(operation, this.#options.clock.monotonicMs());
    }
  }

  /**
   * Waits for an operation: reads it by id until it has ended. If no read shows it for `missingGraceMs`, no resource
   * waits for it any longer.
   */
  expect(id: string): void {
    this.#known.expect(id, this.#options.clock.monotonicMs());
  }

  /**
   * Notes that a resource has used a snapshot. Call it when the resource's new status is stored, or needed no write.
   * @param range the operation history range that the resource needs from now on, by its stored status.
   */
  noteUsed(range: HistoryRange, { revision, reachMs }: OperationsSnapshot): void {
    const { uid, sinceMs } = range;
    const used = this.#uses.get(uid)?.used;
    const isUsed = used !== undefined || sinceMs >= reachMs || sinceMs < this.#floorMs;
    this.#uses.set(uid, { range, used: isUsed ? { revision, sinceMs } : undefined });
  }

  /**
   * Drops operations that no resource needs. Call it after the resources have used a snapshot. Called between a list
   * and its snapshot, it would drop what the list has just shown.
   */
  prune(): void {
    const revisions = [...this.#uses.values()].map(({ used }) => used?.revision ?? Number.POSITIVE_INFINITY);
    const needs = { sinceMs: this.#unreadSinceMs(), usedRevision: Math.min(Number.POSITIVE_INFINITY, ...revisions) };
    const { all, needed } = this.#known.prune(needs);
    this.#reachMs = Math.max(this.#reachMs, ...all.map((each) => createdMsOf(each) + 1));
    const times = needed.map(createdMsOf).filter(Number.isFinite);
    if (times.length > 0) {
      this.#options.onGap({ fromMs: Math.min(...times), untilMs: Math.max(...times) + 1 });
    }
  }

  /** Returns the resources that have not yet used a snapshot of this process that reaches back to their watermark. */
  #unread(): readonly ResourceUse[] {
    return [...this.#uses.values()].filter(
      ({ range, used }) => range.sinceMs < (used?.sinceMs ?? Number.POSITIVE_INFINITY),
    );
  }

  #unreadSinceMs(): number | undefined {
    const unread = this.#unread().map(({ range }) => range.sinceMs);
    return unread.length === 0 ? undefined : Math.max(Math.min(...unread), this.#floorMs);
  }

  /**
   * Returns how far back a run must go to find operations whose times are earlier than those listed before. Clocks of
   * the control plane's machines differ, and a clock may step back.
   * @returns epoch milliseconds of the control plane's clock; Infinity: there is no such limit.
   */
  #backToMs(serviceTimeMs: number | undefined): number {
    const last = this.#orderedRun;
    const nowMs = this.#options.clock.monotonicMs();
    if (serviceTimeMs === undefined || last === undefined || nowMs - last.atMs < orderedRunEveryMs) {
      return Number.POSITIVE_INFINITY;
    }
    return Math.min(last.serviceTimeMs, serviceTimeMs - (nowMs - last.previousAtMs)) - listDisorderMs;
  }

  #noteOrderedRun(backToMs: number, serviceTimeMs = Number.POSITIVE_INFINITY): void {
    const last = this.#orderedRun;
    if (last === undefined || Number.isFinite(backToMs)) {
      const atMs = this.#options.clock.monotonicMs();
      this.#orderedRun = { atMs, previousAtMs: last?.atMs ?? atMs, serviceTimeMs };
    }
  }

  /**
   * Lists operations page by page, newest first, until a page ends the run, or the maximum number of pages is reached. If
   * a page cannot be read, nothing of the run is used, because half a list would look complete.
   * @throws ControlPlaneError
   */
  async #list(source: OperationSource, projectId: string, backToMs: number): Promise<Run> {
    const { pageSize, deepPageSize, maxPages } = this.#options;
    const sinceMs = this.#unreadSinceMs();
    const operations: Operation[] = [];
    const unreadableIds: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const limit = Math.min(pageSize * 4 ** page, deepPageSize);
      const answer = await source.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
      operations.push(...answer.operations);
      unreadableIds.push(...answer.unreadableIds);
      const isEmpty = answer.operations.length === 0 && answer.unreadableIds.length === 0;
      if (isEmpty || answer.cursor === undefined || answer.cursor === cursor) {
        return { operations, unreadableIds, end: "Exhausted" };
      }
      const oldest = answer.operations.at(-1);
      const end = createdMsOf(oldest) < backToMs ? oldest && this.#endAt(oldest, sinceMs) : undefined;
      if (end !== undefined) {
        return { operations, unreadableIds, end };
      }
      cursor = answer.cursor;
    }
    return { operations, unreadableIds, end: "CutShort" };
  }

  #endAt(oldest: Operation, sinceMs: number | undefined): RunEnd | undefined {
    const oldestMs = Date.parse(oldest.createdTime);
    const isBackAtLastRun = this.#lastRun && (this.#lastRun.ids.has(oldest.id) || oldestMs <= this.#lastRun.oldestMs);
    if (isBackAtLastRun && (sinceMs === undefined || sinceMs >= this.#reachMs)) {
      return "Linked";
    }
    const isSufficient = sinceMs === undefined ? !this.#lastRun && !isInFlight(oldest) : oldestMs < sinceMs;
    return isSufficient ? "Sufficient" : undefined;
  }

  #noteRun({ operations, end }: Run): void {
    for (const { createdTime } of operations) {
      if (this.#newestListedTime === undefined || isLater(createdTime, this.#newestListedTime)) {
        this.#newestListedTime = createdTime;
      }
    }
    const oldestMs = createdMsOf(operations.at(-1));
    if (end === "Exhausted") {
      this.#reachMs = Number.NEGATIVE_INFINITY;
    } else if (operations.length > 0) {
      // The list may hide another operation of the same moment as the oldest one.
      this.#reachMs = end === "Linked" ? Math.min(this.#reachMs, oldestMs + 1) : oldestMs + 1;
    }
    this.#lastRun = { ids: new Set(operations.map(({ id }) => id)), oldestMs, newestMs: createdMsOf(operations[0]) };
  }

  /**
   * Gives up on operations behind the maximum number of pages: they are never read. This is a gap, unless a watermark
   * shows that they have been counted.
   */
  #giveUpBefore({ end }: Run, lastNewestMs: number): void {
    if (end !== "CutShort") {
      return;
    }
    const unread = this.#unread();
    const counted = [...this.#uses.values()].map((use) => (unread.includes(use) ? use.range.certainMs : lastNewestMs));
    const fromMs = Math.max(Math.min(...counted), this.#floorMs);
    const untilMs = this.#reachMs;
    this.#floorMs = Math.max(untilMs, this.#floorMs);
    if (fromMs < untilMs) {
      this.#options.onGap({ fromMs, untilMs });
    }
  }

  async #readById(source: OperationSource, projectId: string, id: string): Promise<void> {
    const { clock, onLost } = this.#options;
    const answer = await resultOrError(source.getOperation(projectId, id));
    const isFailing = answer instanceof ControlPlaneError;
    if (answer !== undefined && !isFailing) {
      this.noteAnswer([answer]);
    } else if (this.#known.noteUnshown(id, { isFailing, nowMs: clock.monotonicMs() })) {
      onLost(id);
    }
  }
}

/** Returns when an operation was created, in epoch milliseconds. -Infinity: there is none, or its time is unreadable. */
function createdMsOf(operation: Operation | undefined): number {
  const createdMs = Date.parse(operation?.createdTime ?? "");
  return Number.isFinite(createdMs) ? createdMs : Number.NEGATIVE_INFINITY;
}
