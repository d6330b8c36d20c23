/** The watermark: how far the operations of one resource have been counted. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { type Operation, type OperationCause, outcomeOf } from "../domain/operation.ts";
import type { LogBranch, OperationWatermark } from "../resource/status-schema.ts";
import { hasEnded, type OperationsSnapshot } from "./known-operations.ts";

/** An operation of one resource, with its cause. */
export interface AttributedOperation {
  readonly operation: Operation;
  readonly cause: OperationCause;
}

/**
 * The parsed watermark ("mark"): how far the operations of one resource have been counted. All times are epoch
 * milliseconds of the control plane's clock.
 *
 * The next reconcile counts an ended operation if `unfinishedIds` holds it, or if it was created after `floorMs` and
 * `met` does not hold it. When a snapshot first shows an operation, `met` takes its id, and keeps it until `floorMs`
 * reaches its creation time. `unfinishedIds` holds the id too until the operation ends. So no operation is counted twice,
 * whatever the order of lists and whatever the times of operations.
 */
export interface LogMark {
  readonly floorMs: number;
  /** Operations created after `floorMs` that were shown before: their creation times by id. */
  readonly met: ReadonlyMap<string, number>;
  /** Ids of operations that had not ended when they were last shown. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
  /** The newest creation time counted. The previous version of the operator counts from here, as it knows no floor. */
  readonly createdMs: number;
  /** When the log of the present endpoint began, RFC 3339. */
  readonly sinceTime: string;
  readonly branch: LogBranch | undefined;
  readonly formerEndpointId: string | undefined;
}

/** The maximum number of operations that a mark remembers by id. */
const metLimit = 32;

/**
 * The maximum number of unfinished operations that a mark waits for. The control plane locks a project, so there are
 * rarely more than a few.
 */
const unfinishedLimit = 50;

/**
 * The floor stays this many milliseconds behind the newest listed operation, because clocks differ and may step back.
 */
const floorBehindMs = 90 * 60_000;

/**
 * A start within this many milliseconds before or after the creation of its endpoint belongs to the create. The times
 * may differ, because clocks of the control plane's machines differ.
 */
export const createdTogetherMs = 2_000;

/**
 * If the newest listed operation is this many milliseconds ahead of the creation of an endpoint, the control plane's
 * clock stepped back. A smaller difference only means that the clocks of its machines differ.
 */
const clockDifferenceMs = 60_000;

/** An operation with an unknown status may have ended. It is awaited for these milliseconds after its last change. */
const unknownPatienceMs = 3_600_000;

/**
 * A later list may show operations that an earlier list did not show. They are at most this many milliseconds older
 * than the newest operation of the earlier list.
 */
const listSettleMs = 60_000;

/** Which part of its project's operation log one resource needs. Times as in `LogMark`. */
export interface HistoryRange {
  readonly uid: string;
  /** The start of the operation history range to read. */
  readonly sinceMs: number;
  /** All operations created before this time have been counted, unless the control plane's clock stepped back. */
  readonly certainMs: number;
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
  if (mark === undefined) {
    return undefined;
  }
  const { met, createdMs, floorMs, unfinishedIds } = mark;
  // A log without any operation begins at createdMs. Its floor is earlier only because clocks may differ.
  const sinceMs = met.size === 0 ? createdMs : floorMs + 1;
  return { uid, sinceMs, certainMs: Math.max(sinceMs, createdMs - listSettleMs), unfinishedIds };
}

/** One snapshot, and what it shows of the control plane's clock. */
export interface LogClock {
  readonly log: OperationsSnapshot;
  /**
   * The latest time of the control plane's clock that a list has shown, epoch milliseconds. The time of an operation in
   * the future does not count. `undefined`: no list has shown an operation.
   */
  readonly referenceMs: number | undefined;
}

/** Returns the clock of a snapshot. @param serviceTimeMs the `Date` header of an answer, epoch milliseconds */
export function clockOf(log: OperationsSnapshot, serviceTimeMs: number | undefined): LogClock {
  const newestMs = Date.parse(log.newestListedTime ?? "");
  const referenceMs = Number.isFinite(newestMs) ? Math.min(newestMs, finiteOr(serviceTimeMs, newestMs)) : undefined;
  return { log, referenceMs };
}

/**
 * Begins the log of an endpoint that the operator created, at its creation. Unfinished operations of the endpoint that
 * it replaces are still counted.
 */
export function beginCreated(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  { referenceMs }: LogClock,
): LogMark {
  const createdMs = finiteOr(Date.parse(endpoint.createdTime), referenceMs ?? 0) - createdTogetherMs;
  // If the list is far ahead of the creation, another resource may have counted the operations in between.
  const isAhead = referenceMs !== undefined && referenceMs - createdMs > clockDifferenceMs;
  return {
    // An operation that names the endpoint cannot be older than the endpoint. If its time is earlier, a clock stepped back,
    // by less than `floorBehindMs`.
    floorMs: createdMs - floorBehindMs,
    met: new Map(),
    unfinishedIds: [],
    createdMs,
    formerEndpointId: undefined,
    ...previous,
    sinceTime: timeText(createdMs),
    branch: branchOf(endpoint, isAhead ? timeText(referenceMs) : endpoint.createdTime),
  };
}

/**
 * Begins the log of an adopted endpoint at the newest listed operation. Operations that have ended by now are never
 * counted. Unfinished ones are counted when they end.
 * @param operations the known operations of the endpoint.
 * @param previous the mark of the endpoint that this one replaces.
 */
export function beginAdopted(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  operations: readonly AttributedOperation[],
  { log, referenceMs: listedMs }: LogClock,
): LogMark {
  const referenceMs = listedMs ?? finiteOr(Date.parse(endpoint.createdTime), 0);
  const open = operations.filter(({ operation }) => !hasEnded(operation)).map(({ operation }) => operation.id);
  const unreadable = log.unreadableIds.slice(0, metLimit).map((id) => [id, referenceMs] as const);
  const sinceTime = timeText(referenceMs);
  return {
    // Below the floor of `previous`, operations may have been counted that `previous.met` does not hold any more.
    floorMs: Math.max(previous?.floorMs ?? Number.NEGATIVE_INFINITY, log.reachMs - 1, referenceMs - floorBehindMs),
    met: new Map([...(previous?.met ?? []), ...unreadable, ...createdTimesOf(operations)]),
    unfinishedIds: [...(previous?.unfinishedIds ?? []), ...open],
    createdMs: referenceMs,
    sinceTime,
    branch: branchOf(endpoint, log.newestListedTime ?? sinceTime),
    formerEndpointId: previous?.formerEndpointId,
  };
}

/** The input of `advanceMark`: one snapshot, and what this reconcile knows besides. */
export interface MarkInput extends LogClock {
  /** The operations of the resource in the snapshot. */
  readonly operations: readonly AttributedOperation[];
  /** Ids of operations that answers of this reconcile named. They are new, whatever their times are. */
  readonly answeredIds: ReadonlySet<string>;
  /** The endpoint as this reconcile last saw it; `undefined`: it did not see the endpoint. */
  readonly endpoint: ObservedEndpoint | undefined;
}

/** The result of moving a mark over one snapshot. */
interface WatermarkStep {
  readonly mark: LogMark;
  /** Operations that ended since the last step. They are counted after the new mark is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Ids of unfinished operations that the mark has no room for. They are never counted. */
  readonly dropped: readonly string[];
}

/** Finds the operations of a snapshot that ended and are not counted yet, and moves the mark past them. */
export function advanceMark(previous: LogMark, input: MarkInput): WatermarkStep {
  const { operations, referenceMs = Number.NEGATIVE_INFINITY } = input;
  const uncounted = operations.filter(({ operation }) => isUncounted(operation, previous, input.answeredIds));
  const open = uncounted.filter(({ operation }) => !hasEnded(operation) && !isGivenUp(operation, referenceMs));
  const shownIds = new Set(operations.map(({ operation }) => operation.id));
  const unseenIds = previous.unfinishedIds.filter((id) => !shownIds.has(id));
  const createdTimes = new Map(createdTimesOf(operations));
  // An operation that the snapshot does not show counts as the oldest.
  const newestFirst = [...new Set([...unseenIds, ...open.map(({ operation }) => operation.id)])]
    .sort()
    .sort((a, b) => (createdTimes.get(b) ?? 0) - (createdTimes.get(a) ?? 0));
  const floorMs = Math.max(previous.floorMs, referenceMs - floorBehindMs);
  const mark = { ...previous, ...boundMet(new Map([...previous.met, ...createdTimes]), floorMs) };
  const createdMs = Math.max(previous.createdMs, mark.floorMs, ...mark.met.values());
  const unfinishedIds = newestFirst.slice(0, unfinishedLimit).sort();
  return {
    mark: { ...mark, createdMs, unfinishedIds, branch: branchAfter({ ...mark, createdMs }, input) },
    ended: uncounted.filter(({ operation }) => hasEnded(operation)),
    dropped: newestFirst.slice(unfinishedLimit),
  };
}

function isUncounted(
  { id, createdTime, status }: Operation,
  { unfinishedIds, met, floorMs }: LogMark,
  answeredIds: ReadonlySet<string>,
): boolean {
  const isNew = Date.parse(createdTime) > floorMs || (answeredIds.has(id) && !hasEnded({ status }));
  return unfinishedIds.includes(id) || (isNew && !met.has(id));
}

function isGivenUp(operation: Operation, referenceMs: number): boolean {
  return outcomeOf(operation) === "Unknown" && referenceMs - unknownPatienceMs > Date.parse(operation.updatedTime);
}

function createdTimesOf(operations: readonly AttributedOperation[]): readonly (readonly [string, number])[] {
  return operations
    .map(({ operation }) => [operation.id, Date.parse(operation.createdTime)] as const)
    .filter(([, createdMs]) => Number.isFinite(createdMs));
}

/** Forgets the operations at or below the floor. If too many are left, the floor rises to the newest forgotten one. */
function boundMet(met: ReadonlyMap<string, number>, floorMs: number): Pick<LogMark, "met" | "floorMs"> {
  const newestFirst = [...met].filter(([, createdMs]) => createdMs > floorMs).sort(([, a], [, b]) => b - a);
  const raisedMs = newestFirst[metLimit]?.[1] ?? floorMs;
  return { floorMs: raisedMs, met: new Map(newestFirst.filter(([, createdMs]) => createdMs > raisedMs)) };
}

/**
 * Returns the branch of the mark. If the resource's read-write endpoint is now on another branch, the operations of
 * that branch count from now on. Its earlier operations belong to another resource.
 */
function branchAfter({ branch, createdMs }: LogMark, { endpoint, log }: MarkInput): LogBranch | undefined {
  const isElsewhere = endpoint?.type === "ReadWrite" && endpoint.branchId !== branch?.id;
  return isElsewhere ? branchOf(endpoint, log.newestListedTime ?? timeText(createdMs)) : branch;
}

function branchOf({ type, branchId }: ObservedEndpoint, sinceTime: string): LogBranch | undefined {
  return type === "ReadWrite" ? { id: branchId, sinceTime } : undefined;
}

function finiteOr(ms: number | undefined, otherwise: number): number {
  return ms !== undefined && Number.isFinite(ms) ? ms : otherwise;
}

/**
 * Reads the stored form of a mark.
 *
 * `createdTime`, and ids created at that very time, have the same meaning as in the previous version of the operator.
 * That version ignores the other entries of `ids`: `"<time> <id>"` is an earlier operation that was shown, and
 * `"<time>"` alone is the floor. Without such an entry the floor is just before `createdTime`.
 * @returns `undefined` if there is no watermark, or its time cannot be parsed.
 */
export function parseMark(stored: OperationWatermark | undefined): LogMark | undefined {
  const createdMs = Date.parse(stored?.createdTime ?? "");
  if (stored === undefined || !Number.isFinite(createdMs)) {
    return undefined;
  }
  const entries = stored.ids.map((entry) => parseEntry(entry, createdMs));
  const floorMs = entries.find(({ id }) => id === undefined)?.ms ?? createdMs - 1;
  return {
    floorMs,
    met: new Map(entries.flatMap(({ id, ms }) => (id === undefined || ms <= floorMs ? [] : [[id, ms] as const]))),
    unfinishedIds: stored.unfinishedIds,
    createdMs,
    sinceTime: stored.sinceTime,
    branch: stored.branch,
    formerEndpointId: stored.formerEndpointId,
  };
}

/** Writes the stored form of a mark. Equal marks give equal text. */
export function formatMark({ floorMs, met, createdMs, ...rest }: LogMark): OperationWatermark {
  const oldestFirst = [...met].sort(([a, aMs], [b, bMs]) => aMs - bMs || (a < b ? -1 : 1));
  const floor = floorMs === createdMs - 1 ? [] : [timeText(floorMs)];
  const isPlain = (id: string, ms: number) => ms === createdMs && !timedEntry.test(id);
  const { sinceTime, branch, formerEndpointId, unfinishedIds } = rest;
  return {
    sinceTime,
    ...(branch === undefined ? {} : { branch }),
    ...(formerEndpointId === undefined ? {} : { formerEndpointId }),
    createdTime: timeText(createdMs),
    ids: [...floor, ...oldestFirst.map(([id, ms]) => (isPlain(id, ms) ? id : `${timeText(ms)} ${id}`))],
    unfinishedIds: [...unfinishedIds],
  };
}

const timedEntry = /^((?:\d{4}|[+-]\d{6})-\d\d-\d\dT\S+Z)(?: (.*))?$/s;

function parseEntry(entry: string, createdMs: number): { readonly id: string | undefined; readonly ms: number } {
  const [, time = "", id] = timedEntry.exec(entry) ?? [];
  const ms = Date.parse(time);
  return Number.isFinite(ms) ? { id, ms } : { id: entry, ms: createdMs };
}

/** The largest distance from 1970 that a JavaScript date can hold, in milliseconds. */
const farthestMs = 8.64e15;

/**
 * Formats a time as ISO 8601. A time that a date cannot hold becomes the nearest one that fits, because the reducer
 * never throws.
 */
function timeText(ms: number): string {
  return new Date(Math.min(Math.max(ms, -farthestMs), farthestMs)).toISOString();
}
