/** Reads the operations of one project from the control plane, as far back as its resources need them. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError, resultOrError } from "../domain/control-plane-error.ts";
import { isInFlight, type Operation } from "../domain/operation.ts";
import { AwaitedOperations, mostKept } from "./awaited.ts";
import { createSnapshot, isBelieved, type OperationsSnapshot } from "./snapshot.ts";
import type { HistoryRange } from "./watermark.ts";

type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

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
  /** What the resources of the project need that have a watermark. @see historyRangeOf */
  readonly ranges: readonly HistoryRange[];
}

/**
 * Operations in the list may stand in the wrong order if their times differ by less than this, in milliseconds. The
 * clocks of the control plane's machines differ.
 */
const listDisorderMs = 10_000;

/**
 * The operation log of one project, as this process knows it. All of it may be forgotten: the next read then goes back
 * to the floors of the resources again.
 *
 * A read lists pages, newest first, until it reaches what the previous read has shown, and what a resource needs. It
 * reads unfinished operations by id that the pages do not show. A failed read of one operation does not affect the
 * others.
 */
export class ProjectOperations {
  readonly #options: Required<ProjectOperationsOptions>;
  readonly #known = new Map<string, Operation>();
  readonly #awaited: AwaitedOperations;
  /** By uid of a resource: up to which time it has used what was read. Epoch milliseconds of the control plane's clock. */
  readonly #usedMs = new Map<string, number>();
  /** Operations created before this time are never read. They have been reported as a gap. */
  #givenUpMs = Number.NEGATIVE_INFINITY;
  /** Every listed operation since this time is known. */
  #reachMs = Number.POSITIVE_INFINITY;
  #newestListedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ProjectOperationsOptions) {
    this.#options = {
      pageSize: 50,
      deepPageSize: 1_000,
      maxPages: 10,
      maxPolls: 20,
      onGap: () => {},
      onLost: () => {},
      ...options,
    };
    this.#awaited = new AwaitedOperations(this.#options.maxPolls);
  }

  /**
   * Reads the new part of the log.
   * @throws ControlPlaneError when a list fails; the operations that were known before stay known.
   */
  async read(source: OperationSource, { projectId, ranges }: OperationsRead): Promise<OperationsSnapshot> {
    for (const id of ranges.flatMap(({ unfinishedIds }) => unfinishedIds)) {
      this.expect(id);
    }
    const listed = await this.#list(source, projectId, this.#neededSinceMs(ranges));
    this.noteAnswer(listed);
    const listedIds = new Set(listed.map(({ id }) => id));
    const dueIds = this.#awaited.takeDue(listedIds, this.#options.clock.monotonicMs());
    await Promise.all(dueIds.map((id) => this.#readById(source, projectId, id)));
    const snapshot = createSnapshot({
      operations: [...this.#known.values()].filter(({ id }) => !this.#awaited.isLost(id)),
      newestListedMs: this.#newestListedMs,
      unseenIds: new Set(this.#awaited.ids.filter((id) => !this.#known.has(id) && !this.#awaited.isLost(id))),
    });
    this.#prune(ranges, snapshot);
    return snapshot;
  }

  /** Adds operations that the answer to a read or a write named. Later reads ask for those in flight by id. */
  noteAnswer(operations: readonly Operation[]): void {
    for (const operation of operations) {
      const before = this.#known.get(operation.id);
      const known = before === undefined || isBelieved(before, operation) ? operation : before;
      this.#known.set(operation.id, known);
      if (isInFlight(known)) {
        this.expect(operation.id);
        this.#awaited.noteShown(operation.id);
      } else {
        this.#awaited.delete(operation.id);
      }
    }
  }

  /**
   * Waits for an operation: reads it by id until it has ended. If no read shows it for a minute, no resource
   * waits for it any longer.
   */
  expect(id: string): void {
    const known = this.#known.get(id);
    if (known === undefined || isInFlight(known)) {
      this.#awaited.add(id, this.#options.clock.monotonicMs());
    }
  }

  /** Notes up to which time a resource has used what was read. Call it when its status is stored, or needed no write. */
  noteUsed(uid: string, usedMs: number): void {
    this.#usedMs.set(uid, usedMs);
  }

  #needOf({ uid, floorMs }: HistoryRange): number {
    return Math.max(floorMs, this.#usedMs.get(uid) ?? floorMs, this.#givenUpMs);
  }

  #neededSinceMs(ranges: readonly HistoryRange[]): number {
    const needs = ranges.map((range) => this.#needOf(range)).filter((needMs) => needMs + 1 < this.#reachMs);
    return Math.min(Number.isFinite(this.#newestListedMs) ? this.#newestListedMs : this.#reachMs, ...needs);
  }

  /**
   * Lists operations page by page, newest first, back to a time, or until the maximum number of pages is reached. If a
   * page cannot be read, nothing of the run is used, because half a list would look complete.
   * @throws ControlPlaneError
   */
  async #list(source: OperationSource, projectId: string, sinceMs: number): Promise<readonly Operation[]> {
    const { pageSize, deepPageSize, maxPages } = this.#options;
    const operations: Operation[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const limit = Math.min(pageSize * 4 ** page, deepPageSize);
      const answer = await source.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
      operations.push(...answer.operations);
      const isEmpty = answer.operations.length === 0 && answer.unreadableIds.length === 0;
      if (isEmpty || answer.cursor === undefined || answer.cursor === cursor) {
        return this.#noteListed(operations, Number.NEGATIVE_INFINITY);
      }
      const oldest = operations.at(-1);
      const completeMs = createdMsOf(oldest) + listDisorderMs;
      const isShort = answer.operations.length + answer.unreadableIds.length < limit;
      const isRestKnown = isShort && this.#reachMs === Number.NEGATIVE_INFINITY && this.#known.has(oldest?.id ?? "");
      if (oldest !== undefined && (completeMs <= sinceMs || isRestKnown)) {
        return this.#noteListed(operations, Math.min(completeMs, this.#reachMs));
      }
      cursor = answer.cursor;
    }
    return this.#giveUp(operations, sinceMs);
  }

  #noteListed(operations: readonly Operation[], reachMs: number): readonly Operation[] {
    this.#newestListedMs = operations.reduce((ms, each) => Math.max(ms, createdMsOf(each)), this.#newestListedMs);
    this.#reachMs = reachMs;
    return operations;
  }

  /** Reports the part of the log behind the maximum number of pages. It is never read. */
  #giveUp(operations: readonly Operation[], sinceMs: number): readonly Operation[] {
    const untilMs = createdMsOf(operations.at(-1)) + listDisorderMs;
    if (Number.isFinite(sinceMs) && sinceMs < untilMs) {
      this.#options.onGap({ fromMs: sinceMs, untilMs });
    }
    this.#givenUpMs = untilMs;
    return this.#noteListed(operations, untilMs);
  }

  async #readById(source: OperationSource, projectId: string, id: string): Promise<void> {
    const answer = await resultOrError(source.getOperation(projectId, id));
    if (answer !== undefined && !(answer instanceof ControlPlaneError)) {
      this.noteAnswer([answer]);
    } else if (this.#awaited.noteUnshown(id, this.#options.clock.monotonicMs())) {
      this.#options.onLost(id);
    }
  }

  /** Forgets ended operations that every resource has used, except those of the first page. */
  #prune(ranges: readonly HistoryRange[], { operations }: OperationsSnapshot): void {
    for (const uid of this.#usedMs.keys()) {
      if (!ranges.some((range) => range.uid === uid)) {
        this.#usedMs.delete(uid);
      }
    }
    const unfinishedIds = new Set(ranges.flatMap((range) => range.unfinishedIds));
    const neededMs = Math.min(...ranges.map((range) => this.#needOf(range)));
    const { pageSize } = this.#options;
    for (const [index, operation] of operations.entries()) {
      const isNeeded = createdMsOf(operation) > neededMs || unfinishedIds.has(operation.id) || isInFlight(operation);
      if (index >= mostKept || (index >= pageSize && !isNeeded)) {
        this.#known.delete(operation.id);
        this.#reachMs = Math.max(this.#reachMs, createdMsOf(operation) + 1);
      }
    }
  }
}

/** Returns when an operation was created, in epoch milliseconds. -Infinity: there is none, or its time is unreadable. */
function createdMsOf(operation: Operation | undefined): number {
  const createdMs = Date.parse(operation?.createdTime ?? "");
  return Number.isFinite(createdMs) ? createdMs : Number.NEGATIVE_INFINITY;
}
