import { isInFlight, type Operation, outcomeOf } from "../domain/operation.ts";
import { createTextPool } from "../domain/text-pool.ts";

/** What the operator knows of one project's operation log at one moment. Times in it are the control plane's. */
export interface OperationsSnapshot {
  /** Counts up with each read of this process. Tells which snapshot a resource has reduced last. */
  readonly revision: number;
  /** Newest first: the newest operations, those that a resource still has to reduce, and all unfinished ones. Bounded. */
  readonly operations: readonly Operation[];
  /** The same operations by endpoint id, newest first; those without an endpoint under "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** RFC 3339: creation time of the newest operation that a list has shown; `undefined` while no list has shown one. */
  readonly newestListedTime: string | undefined;
  /** Epoch milliseconds: `operations` holds everything that the lists have shown since then; -Infinity: the whole log. */
  readonly reachMs: number;
  /** Ids of operations that the control plane shows and the operator cannot read. They never count as absent. */
  readonly unreadableIds: readonly string[];
  /** Ids that are waited for and that this read has not shown: the read by id failed, or its turn has not come. */
  readonly unseenIds: ReadonlySet<string>;
  /** Ids of operations that neither a list nor a read by id has shown for 60 s: nothing waits for them any more. */
  readonly lostIds: ReadonlySet<string>;
}

/** What a snapshot is made from, without the indexes. */
export type SnapshotContent = Omit<OperationsSnapshot, "byEndpoint" | "byId">;

/** Makes a snapshot: adds the indexes, so that a project with many resources is not searched once for each. */
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

/** A part of a project's log that a resource needed and that the operator did not read. Epoch ms, control plane's clock. */
export interface OperationLogGap {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** What must survive a prune. */
export interface Needs {
  /** Epoch milliseconds, control plane's clock: a resource has to see everything since; `undefined`: none looks back. */
  readonly sinceMs: number | undefined;
  /** Every resource has reduced this revision. */
  readonly reducedRevision: number;
}

interface Known {
  operation: Operation;
  /** Epoch milliseconds of the control plane's clock: parsed once, because each read sorts by them. */
  readonly createdMs: number;
  updatedMs: number;
  /** The revision of the first snapshot that shows the operation as it is now. */
  changedRevision: number;
  /** Monotonic milliseconds of the last read that did not look older than `operation`. */
  confirmedMs: number;
}

/** A read that looks older than the last answer is ignored for this long, and believed after that. */
const looksOlderMs = 30_000;

/**
 * The operations of one project that the operator knows of.
 *
 * An ended operation stays ended, whatever a later answer shows: lists lag behind reads by id, and both behind answers
 * to writes. Between two answers of the same kind `updatedTime` is a hint for at most 30 s.
 */
export class KnownOperations {
  readonly #known = new Map<string, Known>();
  readonly #texts = createTextPool(500);
  #revision = 1;

  /** The revision of the snapshot that will be made next. */
  get revision(): number {
    return this.#revision;
  }

  get(id: string): Operation | undefined {
    return this.#known.get(id)?.operation;
  }

  /** Takes in one operation as an answer showed it. @param nowMs monotonic milliseconds. */
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

  /** Everything known, newest first; what changes from now on belongs to the next revision. */
  takeRevision(): { readonly revision: number; readonly operations: readonly Operation[] } {
    const operations = [...this.#known.values()].sort(compareLatestCreated).map(operationOf);
    this.#revision += 1;
    return { revision: this.#revision - 1, operations };
  }

  /**
   * Drops ended operations that changed before the last `windowSize` others and that no resource needs, and everything
   * beyond `mostKept`.
   *
   * @returns the dropped operations; `needed` are those that a resource had not reduced yet.
   */
  prune(needs: Needs, { windowSize, mostKept }: { readonly windowSize: number; readonly mostKept: number }): Pruned {
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
   * Each answer holds its own text, and thousands of operations repeat the same few words. Each field is written out, because
   * an object made by spreading takes half as much memory again.
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

/** Whether an operation has ended in a status that we know. */
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

/** Newest first; the operations of one request share their time, so the id decides. */
function compareLatestCreated(a: Known, b: Known): number {
  return b.createdMs - a.createdMs || (a.operation.id < b.operation.id ? 1 : -1);
}

/** Last changed first. The order of our own reads decides before times, because the control plane's clock may step back. */
function compareLatestChange(a: Known, b: Known): number {
  return b.changedRevision - a.changedRevision || b.updatedMs - a.updatedMs || compareLatestCreated(a, b);
}
