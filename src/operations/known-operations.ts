/** The operations of one project that this process knows, and those that it waits for. */
import { isInFlight, type Operation, outcomeOf } from "../domain/operation.ts";
import { createTextPool } from "../domain/text-pool.ts";

/** The operations of one project that the operator knows at one moment. Times are of the control plane's clock. */
export interface OperationsSnapshot {
  /**
   * The number of the read; it grows with each read of this process. The reader notes which one a resource used last.
   */
  readonly revision: number;
  /**
   * Newest first: the newest operations, those that a resource still has to use, and all unfinished ones. Their number
   * is limited.
   */
  readonly operations: readonly Operation[];
  /** The same operations by endpoint id, newest first. Operations without an endpoint have the key "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** When the newest listed operation was created, RFC 3339; `undefined`: no list has shown an operation. */
  readonly newestListedTime: string | undefined;
  /** `operations` holds every listed operation since this time, epoch milliseconds; -Infinity: the whole log. */
  readonly reachMs: number;
  /**
   * Ids of listed operations that cannot be parsed, and of those whose read by id failed. They never count as absent.
   */
  readonly unreadableIds: readonly string[];
  /** Ids of awaited operations that no read of this process has shown: the read by id failed, or was not made yet. */
  readonly unseenIds: ReadonlySet<string>;
  /** Ids of operations that no list shows and whose reads by id have failed for 60 s. No resource waits for them. */
  readonly lostIds: ReadonlySet<string>;
}

/** Makes a snapshot with indexes, so that the list is not searched once for each resource. */
export function createSnapshot(content: Omit<OperationsSnapshot, "byEndpoint" | "byId">): OperationsSnapshot {
  const { operations } = content;
  return {
    ...content,
    byEndpoint: Map.groupBy(operations, ({ endpointId }) => endpointId ?? ""),
    byId: new Map(operations.map((each) => [each.id, each])),
  };
}

/** The limits of what is remembered and awaited. @see ProjectOperationsOptions, which describes each of them */
export interface KnownOperationsLimits {
  readonly windowSize: number;
  readonly mostKept: number;
  readonly maxPolls: number;
  readonly missingGraceMs: number;
}

/** The operations that must not be dropped, although they are old. */
interface Needs {
  /** Operations since this time must stay, epoch milliseconds of the control plane's clock; `undefined`: none. */
  readonly sinceMs: number | undefined;
  /** The newest revision that every resource has used. */
  readonly usedRevision: number;
}

/** An operation as the last believed answer showed it. */
interface Known {
  operation: Operation;
  /** The operation's times in epoch milliseconds of the control plane's clock. They are parsed once, for sorting. */
  readonly createdMs: number;
  updatedMs: number;
  /** The revision of the first snapshot that shows this form of the operation. */
  changedRevision: number;
  /** When a read last showed the operation in a form that did not look older, in monotonic milliseconds. */
  confirmedMs: number;
}

/** An operation that is read by id while no list shows it. Times are monotonic milliseconds. */
interface Awaited {
  readonly sinceMs: number;
  askedMs: number | undefined;
  /** Since when no read has shown the operation; `undefined`: the last read showed it. */
  unshownSinceMs: number | undefined;
  /** Whether the last read by id failed. */
  isFailing: boolean;
  /**
   * No read has shown the operation for `missingGraceMs`, so no resource waits for it. The reader still asks for it.
   */
  isLost: boolean;
}

/**
 * A read whose `updatedTime` is older than the known one is ignored until the last believed answer is this many
 * milliseconds old. Whatever its age, no read makes an ended operation unfinished again.
 */
const looksOlderMs = 30_000;

/** The longest pause between two reads by id of one awaited operation, in milliseconds. The pause grows up to this. */
const longestPauseMs = 600_000;

/**
 * The maximum number of remembered ids of operations that do not exist. Without them, a resource that waits for such an
 * operation would cause the same read again and again.
 */
const mostGone = 1_000;

/**
 * The operations of one project that this process knows, and those that it waits for.
 *
 * An ended operation stays ended, whatever a later answer shows. Lists may be older than reads by id, and both may be
 * older than answers to writes. Of two answers that both show it as ended, or both as unfinished, the one with
 * the older `updatedTime` is ignored for at most 30 s.
 */
export class KnownOperations {
  readonly #limits: KnownOperationsLimits;
  readonly #known = new Map<string, Known>();
  /** By id. The operation whose last read by id is the oldest comes first. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #goneIds = new Set<string>();
  readonly #texts = createTextPool(500);
  #revision = 1;

  constructor(limits: KnownOperationsLimits) {
    this.#limits = limits;
  }

  /**
   * Notes an operation as an answer showed it. If it is in flight, later reads ask for it by id.
   * @param nowMs monotonic milliseconds
   */
  add(incoming: Operation, nowMs: number): void {
    const { id } = incoming;
    const known = this.#known.get(id);
    if (known === undefined || isBelieved(known, incoming, nowMs)) {
      const isChanged = known === undefined || !isSame(known.operation, incoming);
      this.#known.set(id, {
        operation: isChanged ? this.#withSharedTexts(incoming) : known.operation,
        createdMs: known?.createdMs ?? Date.parse(incoming.createdTime),
        updatedMs: Date.parse(incoming.updatedTime),
        changedRevision: isChanged ? this.#revision : known.changedRevision,
        confirmedMs: nowMs,
      });
    }
    this.#goneIds.delete(id);
    if (!isInFlight(this.#known.get(id)?.operation ?? incoming)) {
      this.#awaited.delete(id);
      return;
    }
    this.#await(id, nowMs);
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) {
      Object.assign(awaited, shown);
    }
  }

  /** Waits for an operation of which only the id is known. @param nowMs monotonic milliseconds */
  expect(id: string, nowMs: number): void {
    if (!this.#known.has(id) && !this.#goneIds.has(id)) {
      this.#await(id, nowMs);
    }
  }

  #await(id: string, nowMs: number): void {
    if (!this.#awaited.has(id) && this.#awaited.size < this.#limits.mostKept) {
      this.#awaited.set(id, { sinceMs: nowMs, askedMs: undefined, ...shown });
    }
  }

  /**
   * Returns the ids to read now, at most `maxPolls`, the one that was not read for the longest time first. Operations
   * that this read's list has shown are left out.
   */
  takeDue(listedIds: ReadonlySet<string>, nowMs: number): readonly string[] {
    const due = [...this.#awaited].filter(([id, awaited]) => !listedIds.has(id) && isDue(awaited, nowMs));
    const taken = due.slice(0, this.#limits.maxPolls);
    for (const [id, awaited] of taken) {
      awaited.askedMs = nowMs;
      this.#awaited.delete(id);
      this.#awaited.set(id, awaited);
    }
    return taken.map(([id]) => id);
  }

  /**
   * Notes that a read by id was answered 404, or failed. After `missingGraceMs` an operation that does not exist is
   * forgotten. An operation whose read fails then counts as lost.
   * @returns whether the operator gives up on the operation now.
   */
  noteUnshown(id: string, { isFailing, nowMs }: { readonly isFailing: boolean; readonly nowMs: number }): boolean {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) {
      return false;
    }
    const unshownSinceMs = awaited.unshownSinceMs ?? nowMs;
    const isLost = nowMs - unshownSinceMs >= this.#limits.missingGraceMs;
    const isNewlyLost = isLost && !awaited.isLost;
    Object.assign(awaited, { unshownSinceMs, isFailing, isLost });
    if (isLost && !isFailing) {
      this.#forget(id);
      this.#goneIds.add(id);
      const [longestGone = id] = this.#goneIds;
      if (this.#goneIds.size > mostGone) {
        this.#goneIds.delete(longestGone);
      }
    }
    return isNewlyLost;
  }

  /** Returns everything known. Later changes belong to the next revision. */
  takeSnapshot(listed: Pick<OperationsSnapshot, "newestListedTime" | "reachMs" | "unreadableIds">): OperationsSnapshot {
    const awaited = [...this.#awaited];
    const failingIds = awaited.filter(([, { isFailing }]) => isFailing).map(([id]) => id);
    this.#revision += 1;
    return createSnapshot({
      ...listed,
      revision: this.#revision - 1,
      operations: [...this.#known.values()].sort(compareLatestCreated).map(operationOf),
      unreadableIds: [...new Set([...listed.unreadableIds, ...failingIds])].filter((id) => id !== ""),
      unseenIds: new Set(awaited.map(([id]) => id).filter((id) => !this.#known.has(id))),
      lostIds: new Set(awaited.filter(([, { isLost }]) => isLost).map(([id]) => id)),
    });
  }

  /**
   * Drops ended operations that no resource needs, except the `windowSize` ones that changed last. It keeps at most
   * `mostKept` ended operations, and as many unfinished ones. Above that it drops those that changed longest ago.
   * @returns all dropped operations; `needed` are those of them that a resource had not used yet.
   */
  prune(needs: Needs): { readonly all: readonly Operation[]; readonly needed: readonly Operation[] } {
    const { windowSize, mostKept } = this.#limits;
    if (this.#known.size <= windowSize) {
      return { all: [], needed: [] };
    }
    const all = [...this.#known.values()].sort(compareLatestChange);
    const isOpen = ({ operation }: Known) => isInFlight(operation);
    const isDropped = (each: Known, index: number) =>
      index >= mostKept || (index >= windowSize && !isNeeded(each, needs));
    const ended = all.filter((each) => !isOpen(each));
    const dropped = [...ended.filter(isDropped), ...all.filter(isOpen).slice(mostKept)];
    for (const { operation } of dropped) {
      this.#forget(operation.id);
    }
    const needed = dropped.filter((each) => isOpen(each) || isNeeded(each, needs));
    return { all: dropped.map(operationOf), needed: needed.map(operationOf) };
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#awaited.delete(id);
  }

  /**
   * Returns a copy that shares its texts with other operations, because thousands of operations repeat the same few
   * words. Each field is written out: an object made by spreading takes half as much memory again.
   */
  #withSharedTexts(operation: Operation): Operation {
    const { share } = this.#texts;
    return {
      id: operation.id,
      projectId: share(operation.projectId),
      branchId: share(operation.branchId),
      endpointId: share(operation.endpointId),
      action: share(operation.action),
      status: share(operation.status),
      failuresCount: operation.failuresCount,
      createdTime: operation.createdTime,
      updatedTime: operation.updatedTime,
      totalDurationMs: operation.totalDurationMs,
      error: operation.error,
    };
  }
}

const shown = { unshownSinceMs: undefined, isFailing: false, isLost: false } as const;

const operationOf = ({ operation }: Known): Operation => operation;

/** Whether an operation has ended. An operation with an unknown status counts as not ended. */
export function hasEnded(operation: Pick<Operation, "status">): boolean {
  const outcome = outcomeOf(operation);
  return outcome === "Succeeded" || outcome === "Failed";
}

function isBelieved({ operation, updatedMs, confirmedMs }: Known, incoming: Operation, nowMs: number): boolean {
  if (hasEnded(operation) !== hasEnded(incoming)) {
    return hasEnded(incoming);
  }
  const looksOlder = Date.parse(incoming.updatedTime) < updatedMs;
  return !looksOlder || nowMs - confirmedMs >= looksOlderMs;
}

function isSame(a: Operation, b: Operation): boolean {
  return (
    a.status === b.status &&
    a.failuresCount === b.failuresCount &&
    a.updatedTime === b.updatedTime &&
    a.totalDurationMs === b.totalDurationMs &&
    a.error === b.error &&
    a.endpointId === b.endpointId &&
    a.branchId === b.branchId
  );
}

function isDue({ sinceMs, askedMs }: Awaited, nowMs: number): boolean {
  return askedMs === undefined || nowMs - askedMs >= Math.min(longestPauseMs, (askedMs - sinceMs) / 10);
}

function isNeeded({ createdMs, updatedMs, changedRevision }: Known, { sinceMs, usedRevision }: Needs): boolean {
  const isSinceThen = sinceMs !== undefined && (createdMs >= sinceMs || updatedMs >= sinceMs);
  return isSinceThen || changedRevision > usedRevision;
}

/** Compares by creation, newest first. Operations of one request have the same time, so then the id decides. */
function compareLatestCreated(a: Known, b: Known): number {
  return b.createdMs - a.createdMs || (a.operation.id < b.operation.id ? 1 : -1);
}

/**
 * Compares by last change, newest first. The order of our own reads comes before times, because the control plane's
 * clock may step back.
 */
function compareLatestChange(a: Known, b: Known): number {
  return b.changedRevision - a.changedRevision || b.updatedMs - a.updatedMs || compareLatestCreated(a, b);
}
