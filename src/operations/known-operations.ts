/** The operations of one project that this process knows. */
import { isInFlight, type Operation, outcomeOf } from "../domain/operation.ts";
import { createTextPool } from "../domain/text-pool.ts";

/** The operations of one project that the operator knows at one moment. Times are the control plane's. */
export interface OperationsSnapshot {
  /**
   * The number of this snapshot. It grows with each read of this process, and shows which snapshot a resource has used
   * last.
   */
  readonly revision: number;
  /**
   * Newest first: the newest operations, those that a resource still has to use, and all unfinished ones. Their number
   * is limited.
   */
  readonly operations: readonly Operation[];
  /** The operations of this snapshot by endpoint id, newest first. Operations without an endpoint have the key "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** When the newest listed operation was created, RFC 3339; `undefined`: no list has shown an operation. */
  readonly newestListedTime: string | undefined;
  /** `operations` holds every listed operation since this time, epoch milliseconds; -Infinity: the whole log. */
  readonly reachMs: number;
  /** Ids of operations that the control plane shows and the operator cannot parse. They never count as absent. */
  readonly unreadableIds: readonly string[];
  /** Ids of awaited operations that no read of this process has shown: the read by id failed, or was not made yet. */
  readonly unseenIds: ReadonlySet<string>;
  /**
   * Ids of operations that no list shows and whose reads by id have failed for 60 s. The operator no longer
   * waits for them.
   */
  readonly lostIds: ReadonlySet<string>;
}

/** The content of a snapshot, without its indexes. */
export type SnapshotContent = Omit<OperationsSnapshot, "byEndpoint" | "byId">;

/** Makes a snapshot with indexes, so that the list is not searched once for each resource. */
export function createSnapshot(content: SnapshotContent): OperationsSnapshot {
  const byEndpoint = new Map<string, Operation[]>();
  for (const operation of content.operations) {
    const id = operation.endpointId ?? "";
    const others = byEndpoint.get(id);
    if (others === undefined) {
      byEndpoint.set(id, [operation]);
    } else {
      others.push(operation);
    }
  }
  return { ...content, byEndpoint, byId: new Map(content.operations.map((each) => [each.id, each])) };
}

/**
 * A part of the operation log that a resource needed and the operator did not read. Times: epoch milliseconds of the
 * control plane's clock.
 */
export interface OperationLogGap {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The operations that must not be dropped, although they are old. */
export interface Needs {
  /**
   * Operations since this time must stay, epoch milliseconds of the control plane's clock; `undefined`: no resource
   * needs older ones.
   */
  readonly sinceMs: number | undefined;
  /** The newest revision that every resource has used. */
  readonly reducedRevision: number;
}

interface Known {
  operation: Operation;
  /**
   * When the operation was created, epoch milliseconds of the control plane's clock. It is parsed once, because each
   * read sorts by it.
   */
  readonly createdMs: number;
  updatedMs: number;
  /** The revision of the first snapshot that shows this form of the operation. */
  changedRevision: number;
  /** When a read last showed the operation in a form that did not look older, in monotonic milliseconds. */
  confirmedMs: number;
}

/**
 * A read that looks older than the last answer is ignored for this many milliseconds. After that the operator believes
 * the read.
 */
const looksOlderMs = 30_000;

/**
 * The operations of one project that the operator knows.
 *
 * An ended operation stays ended, whatever a later answer shows. Lists may be older than reads by id, and both may be
 * older than answers to writes. Between two answers of the same kind, `updatedTime` is a hint for at most 30 s.
 */
export class KnownOperations {
  readonly #known = new Map<string, Known>();
  readonly #texts = createTextPool(500);
  #revision = 1;

  /** The revision of the next snapshot. */
  get revision(): number {
    return this.#revision;
  }

  get(id: string): Operation | undefined {
    return this.#known.get(id)?.operation;
  }

  /** Adds one operation as an answer showed it. @param nowMs monotonic milliseconds. */
  add(incoming: Operation, nowMs: number): void {
    const known = this.#known.get(incoming.id);
    if (known === undefined) {
      const operation = this.#withSharedTexts(incoming, incoming.id);
      const times = { createdMs: Date.parse(incoming.createdTime), updatedMs: Date.parse(incoming.updatedTime) };
      this.#known.set(incoming.id, { operation, ...times, changedRevision: this.#revision, confirmedMs: nowMs });
    } else if (isBelieved(known, incoming, nowMs)) {
      known.confirmedMs = nowMs;
      if (!isSame(known.operation, incoming)) {
        known.operation = this.#withSharedTexts(incoming, known.operation.id);
        known.updatedMs = Date.parse(incoming.updatedTime);
        known.changedRevision = this.#revision;
      }
    }
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Returns all known operations, newest first. Later changes belong to the next revision. */
  takeRevision(): { readonly revision: number; readonly operations: readonly Operation[] } {
    const operations = [...this.#known.values()].sort(compareLatestCreated).map(operationOf);
    this.#revision += 1;
    return { revision: this.#revision - 1, operations };
  }

  /**
   * Drops ended operations that no resource needs, except the `windowSize` ones that changed last. It also drops the
   * oldest ones above `mostKept`.
   * @returns the dropped operations; `needed` are those that a resource had not used yet.
   */
  prune(needs: Needs, { windowSize, mostKept }: { readonly windowSize: number; readonly mostKept: number }): Pruned {
    if (this.#known.size <= windowSize) {
      return { all: [], needed: [] };
    }
    const all = [...this.#known.values()].sort(compareLatestChange);
    const [inFlight, ended] = [all.filter(isOpen), all.filter((each) => !isOpen(each))];
    const isDropped = (each: Known, index: number) =>
      index >= mostKept || (index >= windowSize && !isNeeded(each, needs));
    const dropped = [...ended.filter(isDropped), ...inFlight.slice(mostKept)];
    for (const { operation } of dropped) {
      this.#known.delete(operation.id);
    }
    const needed = dropped.filter((each) => isOpen(each) || isNeeded(each, needs));
    return { all: dropped.map(operationOf), needed: needed.map(operationOf) };
  }

  /**
   * Returns a copy that shares its texts with other operations, because thousands of operations repeat the same few
   * words. Each field is written out: an object made by spreading takes half as much memory again.
   */
  #withSharedTexts(operation: Operation, id: string): Operation {
    const { share } = this.#texts;
    return {
      id,
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

interface Pruned {
  readonly all: readonly Operation[];
  readonly needed: readonly Operation[];
}

const operationOf = ({ operation }: Known): Operation => operation;

const isOpen = ({ operation }: Known): boolean => isInFlight(operation);

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

function isNeeded({ createdMs, updatedMs, changedRevision }: Known, { sinceMs, reducedRevision }: Needs): boolean {
  const isSinceThen = sinceMs !== undefined && (createdMs >= sinceMs || updatedMs >= sinceMs);
  return isSinceThen || changedRevision > reducedRevision;
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
