/** Reads the operation log of one project, as far as its resources need it. */
import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight, isLater, type Operation } from "../domain/operation.ts";
import { createSnapshot, KnownOperations, type OperationLogGap, type OperationsSnapshot } from "./known-operations.ts";
import { createdMsOf, listBack, type OperationSource, type Run, type RunEnd } from "./list-run.ts";
import { WaitedOperations } from "./waited-operations.ts";
import type { LogNeed } from "./watermark.ts";

/** The source and the limits for reading the operation log of one project. */
export interface ProjectOperationsOptions {
  readonly clock: Clock;
  /** The number of operations on the first page. While little happens, no other page is read. @default 50 */
  readonly pageSize?: number;
  /**
   * The maximum number of operations on a further page. Each page asks for four times as many as the one before.
   * @default 1000
   */
  readonly deepPageSize?: number;
  /** The maximum number of pages in one read. @default 10 */
  readonly maxPages?: number;
  /** The maximum number of operations that one read asks for by id. @default 20 */
  readonly maxPolls?: number;
  /**
   * The number of ended operations that stay although every resource has used them. Not below `pageSize`. @default 50
   */
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

/** The input of one read of the log. */
export interface OperationsRead {
  readonly projectId: string;
  /** The needs of all resources of the project that have a watermark. @see logNeedOf */
  readonly needs: readonly LogNeed[];
  /** The last `Date` header, in epoch milliseconds of the control plane's clock; `undefined`: there was none. */
  readonly serviceTimeMs: number | undefined;
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
  readonly #known = new KnownOperations();
  readonly #waited: WaitedOperations;
  /** For each resource, by uid: the last revision that it has used, and how far back its watermark went then. */
  readonly #reduced = new Map<string, { readonly revision: number; readonly sinceMs: number }>();
  /** The need of each resource by its stored watermark, by uid. */
  readonly #needs = new Map<string, LogNeed>();
  /**
   * What the last run over the list showed; `undefined`: there was none. Times: epoch milliseconds of the control
   * plane's clock.
   */
  #lastRun: { readonly ids: ReadonlySet<string>; readonly oldestMs: number; readonly newestMs: number } | undefined;
  /** The last run that went back to `#backToMs`, and the time of the run before it. Monotonic milliseconds. */
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
    this.#waited = new WaitedOperations(this.#options);
  }

  /**
   * Reads the new part of the log.
   * @throws ControlPlaneError when a list fails; the operations that were known before stay known.
   */
  async read(
    source: OperationSource,
    { projectId, needs, serviceTimeMs }: OperationsRead,
  ): Promise<OperationsSnapshot> {
    this.#needs.clear();
    for (const need of needs) {
      this.#needs.set(need.uid, need);
    }
    this.prune();
    for (const id of needs.flatMap(({ unfinishedIds }) => unfinishedIds)) {
      this.expect(id);
    }
    const sinceMs = this.#unreadSinceMs(needs);
    const backToMs = this.#backToMs(serviceTimeMs);
    const run = await listBack(source, projectId, this.#options, (oldest) =>
      createdMsOf(oldest) < backToMs ? this.#endAt(oldest, sinceMs) : undefined,
    );
    const lastNewestMs = this.#lastRun?.newestMs ?? Number.POSITIVE_INFINITY;
    this.#takeRun(run);
    this.#noteOrderedRun(backToMs, serviceTimeMs);
    this.#giveUpBefore(run, needs, lastNewestMs);
    await this.#askForUnseen(source, projectId, run);
    const unreadable = [...run.unreadableIds, ...this.#waited.failingIds()].filter((id) => id !== "");
    return createSnapshot({
      ...this.#known.takeRevision(),
      newestListedTime: this.#newestListedTime,
      reachMs: this.#reachMs,
      unreadableIds: [...new Set(unreadable)],
      unseenIds: new Set([...this.#waited.pendingIds()].filter((id) => this.#known.get(id) === undefined)),
      lostIds: this.#waited.lostIds(),
    });
  }

  /** Adds the operations that the answer to a write named. */
  noteAnswer(operations: readonly Operation[]): void {
    for (const operation of operations) {
      this.#add(operation);
    }
  }

  /** Waits for an operation: reads it by id until it has ended. If no read shows it for 60 s, the reader gives up. */
  expect(id: string): void {
    if (this.#known.get(id) === undefined) {
      this.#waited.add(id, this.#options.clock.monotonicMs());
    }
  }

  /**
   * Notes that a resource has used a snapshot, and that its new state is stored or needed no write.
   * @param need the need by the stored state.
   */
  noteReduced(need: LogNeed, { revision, reachMs }: OperationsSnapshot): void {
    const { uid, sinceMs } = need;
    this.#needs.set(uid, need);
    if (this.#reduced.has(uid) || sinceMs >= reachMs || sinceMs < this.#floorMs) {
      this.#reduced.set(uid, { revision, sinceMs });
    }
  }

  /** Returns the needs of resources that have not used the log in this process back to their watermark. */
  #unread(needs: readonly LogNeed[]): readonly LogNeed[] {
    return needs.filter(({ uid, sinceMs }) => sinceMs < (this.#reduced.get(uid)?.sinceMs ?? Number.POSITIVE_INFINITY));
  }

  #unreadSinceMs(needs: readonly LogNeed[]): number | undefined {
    const unread = this.#unread(needs).map(({ sinceMs }) => sinceMs);
    return unread.length === 0 ? undefined : Math.max(Math.min(...unread), this.#floorMs);
  }

  /**
   * Drops operations that no resource needs. Call it after the resources have used a snapshot; between a read and its
   * snapshot it would remove what the read has found.
   */
  prune(): void {
    for (const uid of this.#reduced.keys()) {
      if (!this.#needs.has(uid)) {
        this.#reduced.delete(uid);
      }
    }
    const needs = [...this.#needs.values()];
    const sinceMs = this.#unreadSinceMs(needs);
    const revisions = needs.map(({ uid }) => this.#reduced.get(uid)?.revision ?? Number.POSITIVE_INFINITY);
    const reducedRevision = Math.min(Number.POSITIVE_INFINITY, ...revisions);
    const { all, needed } = this.#known.prune({ sinceMs, reducedRevision }, this.#options);
    for (const operation of all) {
      this.#reachMs = Math.max(this.#reachMs, createdMsOf(operation) + 1);
      this.#waited.forget(operation.id);
    }
    const times = needed.map(createdMsOf).filter(Number.isFinite);
    if (times.length > 0) {
      this.#options.onGap({ fromMs: Math.min(...times), untilMs: Math.max(...times) + 1 });
    }
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

  #noteOrderedRun(backToMs: number, serviceTimeMs: number | undefined): void {
    const last = this.#orderedRun;
    if (last === undefined || Number.isFinite(backToMs)) {
      const atMs = this.#options.clock.monotonicMs();
      const known = { atMs, previousAtMs: last?.atMs ?? atMs };
      this.#orderedRun = { ...known, serviceTimeMs: serviceTimeMs ?? Number.POSITIVE_INFINITY };
    }
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

  #takeRun({ operations, end }: Run): void {
    for (const operation of operations) {
      this.#waited.seen(operation.id);
      this.#add(operation);
      if (this.#newestListedTime === undefined || isLater(operation.createdTime, this.#newestListedTime)) {
        this.#newestListedTime = operation.createdTime;
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
  #giveUpBefore({ end }: Run, needs: readonly LogNeed[], lastNewestMs: number): void {
    if (end !== "CutShort") {
      return;
    }
    const unread = new Map(this.#unread(needs).map(({ uid, certainMs }) => [uid, certainMs]));
    const countedMs = Math.min(...needs.map(({ uid }) => unread.get(uid) ?? lastNewestMs));
    const fromMs = Math.max(countedMs, this.#floorMs);
    const untilMs = this.#reachMs;
    this.#floorMs = Math.max(untilMs, this.#floorMs);
    if (fromMs < untilMs) {
      this.#options.onGap({ fromMs, untilMs });
    }
  }

  async #askForUnseen(source: OperationSource, projectId: string, run: Run): Promise<void> {
    const seenIds = new Set(run.operations.map(({ id }) => id));
    const ids = this.#waited.takeDue(seenIds, this.#options.clock.monotonicMs());
    await Promise.all(ids.map((id) => this.#askFor(source, projectId, id)));
  }

  async #askFor(source: OperationSource, projectId: string, id: string): Promise<void> {
    try {
      const operation = await source.getOperation(projectId, id);
      if (operation !== undefined) {
        this.#waited.seen(id);
        this.#add(operation);
      } else if (this.#waited.missing(id, this.#options.clock.monotonicMs())) {
        this.#known.forget(id);
        this.#options.onLost(id);
      }
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      if (this.#waited.failed(id, this.#options.clock.monotonicMs())) {
        this.#options.onLost(id);
      }
    }
  }

  #add(operation: Operation): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#known.add(operation, nowMs);
    const latest = this.#known.get(operation.id) ?? operation;
    if (isInFlight(latest)) {
      this.#waited.add(operation.id, nowMs);
    } else {
      this.#waited.forget(operation.id);
    }
  }
}
