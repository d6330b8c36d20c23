import type { Clock } from "../domain/clock.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight, isLater, type Operation } from "../domain/operation.ts";
import { createSnapshot, KnownOperations, type OperationLogGap, type OperationsSnapshot } from "./known-operations.ts";
import { createdMsOf, listBack, type OperationSource, type Run, type RunEnd } from "./list-run.ts";
import type { LogNeed } from "./log-need.ts";
import { WaitedOperations } from "./waited-operations.ts";

/** What the operation log of one project is read with, and its bounds. */
export interface ProjectOperationsOptions {
  readonly clock: Clock;
  /** Operations on the first page, which is the only one as long as little happens. @default 50 */
  readonly pageSize?: number;
  /** Operations on a further page, at most; each asks for four times as many as the one before. @default 1000 */
  readonly deepPageSize?: number;
  /** Pages in one read. @default 10 */
  readonly maxPages?: number;
  /** Operations asked for by id in one read. @default 20 */
  readonly maxPolls?: number;
  /** Ended operations kept although every resource has reduced them. Not below `pageSize`. @default 50 */
  readonly windowSize?: number;
  /** Ended operations kept at most, and unfinished ones. @default 10000 */
  readonly mostKept?: number;
  /** An operation that no read shows is waited for this long. @default 60000 */
  readonly missingGraceMs?: number;
  /** Is called with each part of the log that a resource needed and that was not read. @default nothing */
  readonly onGap?: (gap: OperationLogGap) => void;
  /** Is called once with each operation that is waited for no more because no read shows it. @default nothing */
  readonly onLost?: (operationId: string) => void;
}

/** One read of the log. */
export interface OperationsRead {
  readonly projectId: string;
  /** One for each resource of the project that has a watermark. @see logNeedOf */
  readonly needs: readonly LogNeed[];
  /** The `Date` header seen last, epoch milliseconds of the control plane's clock; `undefined`: none has been seen. */
  readonly serviceTimeMs: number | undefined;
}

/** Operations may stand below others that began up to this much before them: the control plane's machines differ. */
const listDisorderMs = 10_000;

/** A run that looks for operations with earlier times follows the one before at this distance or more. */
const orderedRunEveryMs = 10_000;

/**
 * The operation log of one project, as one process knows it.
 *
 * A read lists pages, newest first, back to what the read before has shown. The first read, and the first one for a
 * resource with an older watermark, goes back to that watermark. Unfinished operations that the pages do not show are
 * then asked for by id. A failed or unreadable read of one operation fails nothing else.
 *
 * Everything that a resource has not reduced yet is kept, up to `mostKept`.
 */
export class ProjectOperations {
  readonly #options: Required<ProjectOperationsOptions>;
  readonly #known = new KnownOperations();
  readonly #waited: WaitedOperations;
  /** The last revision that each resource has reduced, by uid, and how far back its watermark went then. */
  readonly #reduced = new Map<string, { readonly revision: number; readonly sinceMs: number }>();
  /** What the last run over the list showed; `undefined` before the first one. Epoch ms of the control plane's clock. */
  #lastRun: { readonly ids: ReadonlySet<string>; readonly oldestMs: number; readonly newestMs: number } | undefined;
  /** The last run that went back to `#backToMs`, and the one before it. Monotonic milliseconds. */
  #orderedRun: { readonly atMs: number; readonly previousAtMs: number; readonly serviceTimeMs: number } | undefined;
  #newestListedTime: string | undefined;
  /** Everything that the lists have shown since then is known; epoch milliseconds of the control plane's clock. */
  #reachMs = Number.POSITIVE_INFINITY;
  /** What was created before is out of reach: a gap has been reported. */
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
   *
   * @throws ControlPlaneError when a list fails; nothing that was known before is lost.
   */
  async read(
    source: OperationSource,
    { projectId, needs, serviceTimeMs }: OperationsRead,
  ): Promise<OperationsSnapshot> {
    this.#prune(needs);
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

  /** Takes in the operations that the answer to a write named. */
  noteAnswer(operations: readonly Operation[]): void {
    for (const operation of operations) {
      this.#add(operation);
    }
  }

  /** Asks for an operation by id until it has ended. One that no read shows is given up after 60 s. */
  expect(id: string): void {
    if (this.#known.get(id) === undefined) {
      this.#waited.add(id, this.#options.clock.monotonicMs());
    }
  }

  /**
   * A resource has reduced a snapshot, and the state that follows from it is stored or needed no write.
   *
   * @param need of the stored state.
   */
  noteReduced({ uid, sinceMs }: LogNeed, { revision, reachMs }: OperationsSnapshot): void {
    if (this.#reduced.has(uid) || sinceMs >= reachMs || sinceMs < this.#floorMs) {
      this.#reduced.set(uid, { revision, sinceMs });
    }
  }

  /** The needs of the resources that this process has not reduced the log for, as far back as their watermark goes. */
  #unread(needs: readonly LogNeed[]): readonly LogNeed[] {
    return needs.filter(({ uid, sinceMs }) => sinceMs < (this.#reduced.get(uid)?.sinceMs ?? Number.POSITIVE_INFINITY));
  }

  #unreadSinceMs(needs: readonly LogNeed[]): number | undefined {
    const unread = this.#unread(needs).map(({ sinceMs }) => sinceMs);
    return unread.length === 0 ? undefined : Math.max(Math.min(...unread), this.#floorMs);
  }

  /** Before the read and not after it, so that a snapshot shows everything that its read met. */
  #prune(needs: readonly LogNeed[]): void {
    const uids = new Set(needs.map(({ uid }) => uid));
    for (const uid of this.#reduced.keys()) {
      if (!uids.has(uid)) {
        this.#reduced.delete(uid);
      }
    }
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
   * How far a run goes back at least, so that it shows operations whose times are earlier than those of operations listed
   * before: the clocks of the control plane's machines differ, and a clock may step back. Epoch milliseconds of that clock;
   * Infinity: no such bound.
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
      // Another operation of the oldest one's moment may not have been shown.
      this.#reachMs = end === "Linked" ? Math.min(this.#reachMs, oldestMs + 1) : oldestMs + 1;
    }
    this.#lastRun = { ids: new Set(operations.map(({ id }) => id)), oldestMs, newestMs: createdMsOf(operations[0]) };
  }

  /** What lies beyond the bound of pages is not read again. It is a gap unless a watermark says that it has been counted. */
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
