/** The watermark of a resource: how far its operations have been counted. Pure. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isInFlight, type Operation, type OperationCause } from "../domain/operation.ts";
import type { LogBranch, OperationWatermark } from "../resource/status-schema.ts";
import { hasEnded, type OperationsSnapshot } from "./snapshot.ts";

export interface AttributedOperation {
  readonly operation: Operation;
  readonly cause: OperationCause;
}

/**
 * The parsed watermark ("mark"). All times are epoch milliseconds of the control plane's clock. The floor is the only
 * time with which the operator compares others to decide something.
 *
 * An ended operation is counted if `unfinishedIds` holds it, or if it was created after `floorMs` and `counted` does not
 * hold it. So no operation is counted twice, in whatever order lists show them.
 */
export interface LogMark {
  readonly floorMs: number;
  /** Operations that were counted and created after `floorMs`: their creation times by id. */
  readonly counted: ReadonlyMap<string, number>;
  /** Ids of operations that had not ended when they were last shown. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
  readonly branch: LogBranch | undefined;
}

/** The maximum number of counted ids, and of unfinished ids. */
const idsLimit = 32;

/**
 * The floor stays this many milliseconds behind the newest listed operation. Clocks of the control plane's machines
 * differ by seconds, and an operation may show an unknown status before it ends.
 */
const floorBehindMs = 600_000;

/** The log of a created endpoint begins this many milliseconds before its creation, because clocks differ. */
const beforeCreationMs = 60_000;

/**
 * If the floor of the watermark has risen by this many milliseconds, the watermark is stored although nothing else
 * changed. This limits how far back a new process reads.
 */
const longestBehindMs = 86_400_000;

/** Which part of its project's operation log one resource needs. */
export interface HistoryRange {
  readonly uid: string;
  /** The resource needs every operation that was created after this time; epoch milliseconds. */
  readonly floorMs: number;
  /** Ids of unfinished operations. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
}

/**
 * Returns which part of the log a resource needs, by its stored watermark. Do not call it for a resource whose
 * records are not proven its own. Such a resource never counts operations, so every read would go back to its
 * watermark.
 * @returns `undefined`: the resource has no log yet, or its watermark cannot be parsed.
 */
export function historyRangeOf(uid: string, stored: OperationWatermark | undefined): HistoryRange | undefined {
  const mark = parseMark(stored);
  return mark && { uid, floorMs: mark.floorMs, unfinishedIds: mark.unfinishedIds };
}

/** Whether a stored watermark holds an ended operation: the operation may be counted now. */
export function holds(
  stored: OperationWatermark | undefined,
  { operationId, createdMs }: { readonly operationId: string; readonly createdMs: number },
): boolean {
  const mark = parseMark(stored);
  return (
    mark !== undefined &&
    !mark.unfinishedIds.includes(operationId) &&
    (mark.counted.has(operationId) || !(createdMs > mark.floorMs))
  );
}

/**
 * Begins the log of an endpoint that the operator created. Unfinished operations of the endpoint that it replaces are
 * still counted.
 * @param previous the mark of the endpoint that this one replaces.
 */
export function beginCreated(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  snapshot: OperationsSnapshot,
): LogMark {
  const floorMs = createdMsOf(endpoint, snapshot.newestListedMs) - beforeCreationMs;
  return { ...begin(endpoint, previous, snapshot), floorMs: Math.max(floorMs, previous?.floorMs ?? floorMs) };
}

/**
 * Begins the log of an adopted endpoint at the newest listed operation. Operations that have ended by now are never
 * counted. Unfinished ones are counted when they end.
 * @param operations the known operations of the endpoint.
 */
export function beginAdopted(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  snapshot: OperationsSnapshot,
  operations: readonly AttributedOperation[],
): LogMark {
  const { newestListedMs } = snapshot;
  const floorMs = Number.isFinite(newestListedMs) ? newestListedMs : createdMsOf(endpoint, 0);
  const open = operations.filter(({ operation }) => isInFlight(operation)).map(({ operation }) => operation.id);
  const begun = begin(endpoint, previous, snapshot);
  return { ...begun, floorMs, unfinishedIds: [...begun.unfinishedIds, ...open] };
}

function begin(endpoint: ObservedEndpoint, previous: LogMark | undefined, snapshot: OperationsSnapshot) {
  return {
    counted: previous?.counted ?? new Map<string, number>(),
    unfinishedIds: previous?.unfinishedIds ?? [],
    branch: branchOf(endpoint, snapshot),
  };
}

export interface MarkInput {
  readonly snapshot: OperationsSnapshot;
  readonly operations: readonly AttributedOperation[];
  /** Ids of operations that answers of this reconcile named. They are new, whatever their times are. */
  readonly answeredIds: ReadonlySet<string>;
  /** The endpoint as this reconcile last saw it; `undefined`: it did not see the endpoint. */
  readonly endpoint: ObservedEndpoint | undefined;
}

interface WatermarkStep {
  readonly mark: LogMark;
  /** Operations that ended since the last step. They are counted after the new mark is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Ids of unfinished operations that the mark has no room for. They are never counted. */
  readonly dropped: readonly string[];
}

/** Finds the operations of a snapshot that ended and are not counted yet, and moves the mark past them. */
export function advanceMark(
  previous: LogMark,
  { snapshot, operations, answeredIds, endpoint }: MarkInput,
): WatermarkStep {
  const createdTimes = new Map(operations.map(({ operation }) => [operation.id, Date.parse(operation.createdTime)]));
  const isOpen = new Set(previous.unfinishedIds);
  const isNew = ({ id }: Operation) => !previous.counted.has(id) && (createdTimes.get(id) ?? 0) > previous.floorMs;
  const ended = operations.filter(
    ({ operation }) => hasEnded(operation) && (isOpen.has(operation.id) || isNew(operation)),
  );
  const inFlight = operations.filter(
    ({ operation }) =>
      isInFlight(operation) && (isOpen.has(operation.id) || isNew(operation) || answeredIds.has(operation.id)),
  );
  // An operation that the snapshot does not show counts as the oldest.
  const unseenIds = previous.unfinishedIds.filter((id) => !createdTimes.has(id));
  const newestFirst = [...new Set([...unseenIds, ...inFlight.map(({ operation }) => operation.id)])]
    .sort()
    .sort((a, b) => (createdTimes.get(b) ?? 0) - (createdTimes.get(a) ?? 0));
  const endedTimes = ended.map(({ operation: { id } }) => [id, createdTimes.get(id) ?? 0] as const);
  const floorMs = Math.max(previous.floorMs, snapshot.newestListedMs - floorBehindMs);
  // The listed creation time decides here too. Else an id could be forgotten, and its operation would look new.
  const countedTimes = [...previous.counted].map(([id, ms]) => [id, createdTimes.get(id) ?? ms] as const);
  const bounded = boundCounted(new Map([...countedTimes, ...endedTimes]), floorMs);
  const isElsewhere = endpoint?.type === "ReadWrite" && endpoint.branchId !== previous.branch?.id;
  const branch = isElsewhere ? branchOf(endpoint, snapshot) : previous.branch;
  return {
    mark: { ...bounded, unfinishedIds: newestFirst.slice(0, idsLimit).sort(), branch },
    ended,
    dropped: newestFirst.slice(idsLimit),
  };
}

/** Forgets the operations at or below the floor. If too many are left, the floor rises to the newest forgotten one. */
function boundCounted(counted: ReadonlyMap<string, number>, floorMs: number): Pick<LogMark, "counted" | "floorMs"> {
  const newestFirst = [...counted].filter(([, createdMs]) => createdMs > floorMs).sort(([, a], [, b]) => b - a);
  const raisedMs = newestFirst[idsLimit]?.[1] ?? floorMs;
  return { floorMs: raisedMs, counted: new Map(newestFirst.filter(([, createdMs]) => createdMs > raisedMs)) };
}

/**
 * Whether a mark must be stored although nothing was counted. A new process must find every unfinished operation, and
 * must not read too far back.
 */
export function isWorthStoring(stored: LogMark | undefined, next: LogMark, { byId }: OperationsSnapshot): boolean {
  const isBelowFloor = (id: string) => !(Date.parse(byId.get(id)?.createdTime ?? "") > next.floorMs);
  return (
    stored === undefined ||
    stored.branch?.id !== next.branch?.id ||
    next.floorMs - stored.floorMs >= longestBehindMs ||
    next.unfinishedIds.some((id) => !stored.unfinishedIds.includes(id) && isBelowFloor(id))
  );
}

/**
 * Returns the branch of a mark: operations that name no endpoint belong to the resource from now on. Earlier operations of
 * the branch belong to another resource.
 */
function branchOf(endpoint: ObservedEndpoint, { newestListedMs }: OperationsSnapshot): LogBranch | undefined {
  const sinceMs = Math.max(createdMsOf(endpoint, newestListedMs), newestListedMs);
  return endpoint.type === "ReadWrite" ? { id: endpoint.branchId, sinceTime: timeText(sinceMs) } : undefined;
}

function createdMsOf({ createdTime }: ObservedEndpoint, otherwise: number): number {
  const createdMs = Date.parse(createdTime);
  return Number.isFinite(createdMs) ? createdMs : otherwise;
}

/** Reads the stored form of a mark. @returns `undefined` if there is none, or its floor cannot be parsed */
export function parseMark(stored: OperationWatermark | undefined): LogMark | undefined {
  const floorMs = Date.parse(stored?.floorTime ?? "");
  if (stored === undefined || !Number.isFinite(floorMs)) {
    return undefined;
  }
  const { counted, unfinishedIds, branch } = stored;
  const times = counted.map(({ id, createdTime }) => [id, Date.parse(createdTime)] as const);
  return { floorMs, counted: new Map(times), unfinishedIds, branch };
}

/** Writes the stored form of a mark. Equal marks give equal text. */
export function formatMark({ floorMs, counted, unfinishedIds, branch }: LogMark): OperationWatermark {
  const oldestFirst = [...counted].sort(([a, aMs], [b, bMs]) => aMs - bMs || (a < b ? -1 : 1));
  return {
    floorTime: timeText(floorMs),
    counted: oldestFirst.map(([id, ms]) => ({ id, createdTime: timeText(ms) })),
    unfinishedIds: [...unfinishedIds],
    ...(branch === undefined ? {} : { branch }),
  };
}

/** The largest distance from 1970 that a JavaScript date can hold, in milliseconds. */
const farthestMs = 8.64e15;

/** Formats a time as ISO 8601. A time that a date cannot hold becomes the nearest one that fits. */
function timeText(ms: number): string {
  return new Date(Math.min(Math.max(ms, -farthestMs), farthestMs)).toISOString();
}
