import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isInFlight, isLater, type Operation } from "../domain/operation.ts";
import {
  createSnapshot,
  hasEnded,
  KnownOperations,
  type OperationLogGap,
  type OperationsSnapshot,
} from "./known-operations.ts";
import type { LogNeed } from "./log-need.ts";
import { WaitedOperations } from "./waited-operations.ts";

/** The control plane's calls that a read makes. */
export type OperationSource = Pick<ControlPlane, "listOperations" | "getOperation">;

/** What the operation log of one project is read with, and its bounds. */
export interface ProjectOperationsOptions {
  readonly clock: Clock;
  /** Operations on the first page, which is the only one as long as little happens. @default 50 */
  readonly pageSize?: number;
  /** Operations on each further page. @default 1000, the most that the control plane gives */
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

/** How far a run over the list went. */
type RunEnd =
  /** To the last operation there is. */
  | "Exhausted"
  /** To an operation of the run before: together they go back as far as that one. */
  | "Linked"
  /** As far as a resource needs. */
  | "Sufficient"
  /** The bound of pages came first. */
  | "CutShort";

interface Run {
  readonly operations: readonly Operation[];
  readonly unreadableIds: readonly string[];
  readonly end: RunEnd;
}

/** How much the times of one list may be out of order while the control plane's clocks are right. */
const listDisorderMs = 60_000;

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
  /** Ids of the operations that the last run over the list showed. */
  #lastRunIds: ReadonlySet<string> = new Set();
  #hasListed = false;
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
   * Reads what is new in the log.
   *
   * @throws ControlPlaneError when a list fails; what was known before is then still known.
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
    const run = await this.#listBack(source, projectId, { sinceMs, serviceTimeMs });
    this.#takeRun(run, sinceMs);
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
    if (this.#reduced.has(uid) || sinceMs >= Math.min(reachMs, this.#reachMs) || sinceMs < this.#floorMs) {
      this.#reduced.set(uid, { revision, sinceMs });
    }
  }

  /** The oldest watermark of the resources that this process has not reduced the log for yet. */
  #unreadSinceMs(needs: readonly LogNeed[]): number | undefined {
    const unread = needs.filter(({ uid, sinceMs }) => {
      const reduced = this.#reduced.get(uid);
      return reduced === undefined || sinceMs < reduced.sinceMs;
    });
    const oldest = unread.reduce((first, { sinceMs }) => Math.min(first, sinceMs), Number.POSITIVE_INFINITY);
    return Number.isFinite(oldest) ? Math.max(oldest, this.#floorMs) : undefined;
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
      this.#reachMs = Math.max(this.#reachMs, justAfter(operation));
      this.#waited.forget(operation.id);
    }
    const times = needed.map(({ createdTime }) => Date.parse(createdTime)).filter(Number.isFinite);
    if (times.length > 0) {
      this.#reportGap({ fromMs: Math.min(...times), untilMs: Math.max(...times) + 1 });
    }
  }

  async #listBack(
    source: OperationSource,
    projectId: string,
    target: { readonly sinceMs: number | undefined; readonly serviceTimeMs: number | undefined },
  ): Promise<Run> {
    const { pageSize, deepPageSize, maxPages } = this.#options;
    const isBackAtPresent = atPresent(target.serviceTimeMs);
    // Kept apart until the run is complete: a half-read list would pass for a link to what was known before.
    const operations: Operation[] = [];
    const unreadableIds: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < maxPages; page++) {
      const limit = page === 0 ? pageSize : deepPageSize;
      const answer = await source.listOperations(projectId, { limit, ...(cursor === undefined ? {} : { cursor }) });
      operations.push(...answer.operations);
      unreadableIds.push(...answer.unreadableIds);
      const isEmpty = answer.operations.length === 0 && answer.unreadableIds.length === 0;
      if (isEmpty || answer.cursor === undefined || answer.cursor === cursor) {
        return { operations, unreadableIds, end: "Exhausted" };
      }
      const oldest = answer.operations.at(-1);
      const end = oldest && isBackAtPresent(operations, oldest) ? this.#endAt(oldest, target.sinceMs) : undefined;
      if (end !== undefined) {
        return { operations, unreadableIds, end };
      }
      cursor = answer.cursor;
    }
    return { operations, unreadableIds, end: "CutShort" };
  }

  #endAt(oldest: Operation, sinceMs: number | undefined): RunEnd | undefined {
    if (this.#lastRunIds.has(oldest.id) && (sinceMs === undefined || sinceMs >= this.#reachMs)) {
      return "Linked";
    }
    const isSufficient =
      sinceMs === undefined ? !this.#hasListed && !isInFlight(oldest) : Date.parse(oldest.createdTime) < sinceMs;
    return isSufficient ? "Sufficient" : undefined;
  }

  #takeRun({ operations, end }: Run, sinceMs: number | undefined): void {
    this.#hasListed = true;
    this.#lastRunIds = new Set(operations.map(({ id }) => id));
    for (const operation of operations) {
      this.#waited.seen(operation.id);
      this.#add(operation);
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
    if (end === "CutShort" && sinceMs !== undefined && sinceMs < this.#reachMs) {
      this.#floorMs = this.#reachMs;
      this.#reportGap({ fromMs: sinceMs, untilMs: this.#reachMs });
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
    } else if (hasEnded(latest) || latest.status === operation.status) {
      this.#waited.forget(operation.id);
    }
  }

  #reportGap(gap: OperationLogGap): void {
    this.#options.onGap(gap);
  }
}

/** Another operation of the same moment may not have been shown. */
function justAfter({ createdTime }: Operation): number {
  return finiteOr(Date.parse(createdTime), Number.NEGATIVE_INFINITY) + 1;
}

function finiteOr(ms: number, otherwise: number): number {
  return Number.isFinite(ms) ? ms : otherwise;
}

/**
 * Whether a run has gone back to the present of the control plane's clock. If its clock stepped back, or an operation is
 * dated ahead, new operations stand below old ones in the list.
 */
function atPresent(serviceTimeMs: number | undefined) {
  return ([newest]: readonly Operation[], oldest: Operation): boolean =>
    serviceTimeMs === undefined ||
    newest === undefined ||
    Date.parse(newest.createdTime) <= serviceTimeMs + listDisorderMs ||
    Date.parse(oldest.createdTime) < serviceTimeMs - listDisorderMs;
}
