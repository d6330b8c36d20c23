/** The watermark: how far the operations of one resource have been counted. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { LogBranch, OperationWatermark } from "../resource/status-schema.ts";
import { type AttributedOperation, createdTogetherMs } from "./attribution.ts";
import { hasEnded, type OperationsSnapshot } from "./known-operations.ts";

/**
 * How far the operations of one resource have been counted. All times are epoch milliseconds of the control plane's
 * clock.
 *
 * An ended operation is counted if `unfinishedIds` names it, or if it was created after `floorMs` and is not in `met`.
 * Each operation that a snapshot shows is added to `met`. It leaves `met` only when `floorMs` rises to its creation
 * time. So no operation is counted twice, whatever the order of lists and whatever the times of operations.
 */
export interface LogMark {
  readonly floorMs: number;
  /** Operations created after `floorMs` that were shown before: their creation times by id. */
  readonly met: ReadonlyMap<string, number>;
  /** Ids of operations that had not ended when they were last shown. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
  /**
   * The newest creation time counted. The previous version of the operator starts from here, because it knows no floor.
   */
  readonly createdMs: number;
  /** When the log of the present endpoint began, RFC 3339. */
  readonly sinceTime: string;
  readonly branch: LogBranch | undefined;
  readonly formerEndpointId: string | undefined;
}

/** The result of moving a mark over one snapshot. */
export interface WatermarkStep {
  readonly mark: LogMark;
  /** Operations that ended since the last step. They are counted after the new mark is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Ids of unfinished operations that the mark has no room for. They are never counted. */
  readonly dropped: readonly string[];
}

/** The maximum number of operations that a mark remembers by id. */
const metLimit = 32;

/**
 * The maximum number of unfinished operations that a mark waits for. The control plane locks a project, so there are
 * rarely more than a few.
 */
const unfinishedLimit = 50;

/**
 * The floor stays this many milliseconds behind the newest listed operation, because an operation that starts later may
 * have an earlier time.
 */
const floorBehindMs = 90 * 60_000;

/**
 * The assumed difference between the clocks of the control plane's machines when an endpoint is created, in
 * milliseconds.
 */
const clockDifferenceMs = 60_000;

/**
 * How long the operator waits for an operation with an unknown status after its last change, in milliseconds. The
 * unknown status may mean that it has ended.
 */
const unknownPatienceMs = 3_600_000;

/**
 * Returns the latest time of the control plane's clock that a list has shown. The time of an operation in the future
 * does not count. `undefined`: no list has shown an operation.
 */
export function referenceMsOf(
  { newestListedTime }: Pick<OperationsSnapshot, "newestListedTime">,
  serviceTimeMs: number | undefined,
): number | undefined {
  const newestMs = newestListedTime === undefined ? Number.NaN : Date.parse(newestListedTime);
  if (!Number.isFinite(newestMs)) {
    return undefined;
  }
  return Math.min(newestMs, finiteOr(serviceTimeMs, newestMs));
}

/**
 * Begins the log of an endpoint that the operator created, at its creation. Unfinished operations of the endpoint that
 * it replaces are still counted.
 */
export function beginCreated(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  referenceMs: number | undefined,
): LogMark {
  const createdMs = finiteOr(Date.parse(endpoint.createdTime), referenceMs ?? 0) - createdTogetherMs;
  const blank: Pick<LogMark, "floorMs" | "met" | "unfinishedIds" | "createdMs" | "formerEndpointId"> = {
    // An operation that names the endpoint cannot be older than the endpoint. An earlier time only shows that a clock
    // stepped back.
    floorMs: createdMs - floorBehindMs,
    met: new Map(),
    unfinishedIds: [],
    createdMs,
    formerEndpointId: undefined,
  };
  // If the list is far ahead of the creation, the clock stepped back, and another resource may have counted these
  // operations.
  const isAhead = referenceMs !== undefined && referenceMs - createdMs > clockDifferenceMs;
  const branchSinceTime = isAhead ? timeText(referenceMs) : endpoint.createdTime;
  return { ...blank, ...previous, sinceTime: timeText(createdMs), branch: branchOf(endpoint, branchSinceTime) };
}

/**
 * Begins the log of an adopted endpoint at the present lists. Operations that have ended by now are never counted.
 * Unfinished ones are counted when they end.
 * @param operations the known operations of the endpoint.
 * @param previous the mark of the endpoint that this one replaces.
 */
export function beginAdopted(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  known: {
    readonly snapshot: OperationsSnapshot;
    readonly operations: readonly AttributedOperation[];
    readonly referenceMs: number | undefined;
  },
): { readonly mark: LogMark; readonly dropped: readonly string[] } {
  const { snapshot, operations } = known;
  const referenceMs = known.referenceMs ?? finiteOr(Date.parse(endpoint.createdTime), 0);
  const floorMs = Math.max(snapshot.reachMs - 1, referenceMs - floorBehindMs);
  const open = operations.filter(({ operation }) => !hasEnded(operation)).map(({ operation }) => operation.id);
  const { kept, dropped } = keepNewest([...(previous?.unfinishedIds ?? []), ...open], operations);
  const unreadable = snapshot.unreadableIds.slice(0, metLimit).map((id) => [id, referenceMs] as const);
  const met = new Map([...(previous?.met ?? []), ...unreadable, ...createdTimesOf(operations)]);
  const bounded = boundMet(met, floorMs);
  const sinceTime = timeText(referenceMs);
  const mark = {
    ...bounded,
    unfinishedIds: kept,
    createdMs: Math.max(referenceMs, ...bounded.met.values()),
    sinceTime,
    branch: branchOf(endpoint, snapshot.newestListedTime ?? sinceTime),
    formerEndpointId: previous?.formerEndpointId,
  };
  return { mark, dropped };
}

/**
 * Moves the mark over one snapshot.
 * @param operations the operations of the resource in the snapshot.
 * @param answeredIds operations that answers of this reconcile named. They are new, whatever their times are.
 */
export function advanceMark(
  previous: LogMark,
  operations: readonly AttributedOperation[],
  { referenceMs, answeredIds }: { readonly referenceMs: number | undefined; readonly answeredIds: ReadonlySet<string> },
): WatermarkStep {
  const isUncounted = ({ operation: { id, createdTime, status } }: AttributedOperation) =>
    previous.unfinishedIds.includes(id) ||
    (!previous.met.has(id) &&
      (Date.parse(createdTime) > previous.floorMs || (answeredIds.has(id) && !hasEnded({ status }))));
  const uncounted = operations.filter(isUncounted);
  const ended = uncounted.filter(({ operation }) => hasEnded(operation));
  const open = uncounted.filter((each) => !hasEnded(each.operation) && !isGivenUp(each, referenceMs));
  const shownIds = new Set(operations.map(({ operation }) => operation.id));
  const unseen = previous.unfinishedIds.filter((id) => !shownIds.has(id));
  const { kept, dropped } = keepNewest([...unseen, ...open.map(({ operation }) => operation.id)], operations);
  const floorMs = Math.max(previous.floorMs, (referenceMs ?? Number.NEGATIVE_INFINITY) - floorBehindMs);
  const bounded = boundMet(new Map([...previous.met, ...createdTimesOf(operations)]), floorMs);
  const createdMs = Math.max(previous.createdMs, bounded.floorMs, ...bounded.met.values());
  return { mark: { ...previous, ...bounded, createdMs, unfinishedIds: kept }, ended, dropped };
}

/**
 * Changes the branch of the mark if a read-write endpoint was seen on another branch. From now on that branch's
 * operations count. Earlier ones belong to another resource.
 */
export function followBranch(
  mark: LogMark,
  endpoint: ObservedEndpoint | undefined,
  newestListedTime: string | undefined,
): LogMark {
  const isElsewhere = endpoint?.type === "ReadWrite" && endpoint.branchId !== mark.branch?.id;
  const sinceTime = newestListedTime ?? timeText(mark.createdMs);
  return isElsewhere ? { ...mark, branch: { id: endpoint.branchId, sinceTime } } : mark;
}

function isGivenUp({ operation, outcome }: AttributedOperation, referenceMs: number | undefined): boolean {
  return (
    outcome === "Unknown" &&
    referenceMs !== undefined &&
    referenceMs - unknownPatienceMs > Date.parse(operation.updatedTime)
  );
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

/** Keeps the newest ids. An operation that the snapshot does not show counts as the oldest. */
function keepNewest(ids: readonly string[], operations: readonly AttributedOperation[]) {
  const createdMs = new Map(createdTimesOf(operations));
  const newestFirst = [...new Set(ids)].sort().sort((a, b) => (createdMs.get(b) ?? 0) - (createdMs.get(a) ?? 0));
  return { kept: newestFirst.slice(0, unfinishedLimit).sort(), dropped: newestFirst.slice(unfinishedLimit) };
}

function branchOf({ type, branchId }: ObservedEndpoint, sinceTime: string): LogBranch | undefined {
  return type === "ReadWrite" ? { id: branchId, sinceTime } : undefined;
}

function finiteOr(ms: number | undefined, otherwise: number): number {
  return ms !== undefined && Number.isFinite(ms) ? ms : otherwise;
}

/** Which part of its project's operation log one resource needs. */
export interface LogNeed {
  readonly uid: string;
  /** The start of the operation history range to read, in epoch milliseconds of the control plane's clock. */
  readonly sinceMs: number;
  /** All operations created before this time have been counted, unless the control plane's clock stepped back. */
  readonly certainMs: number;
  /** Ids of unfinished operations. They are counted when they end. */
  readonly unfinishedIds: readonly string[];
}

/**
 * A later list may show additional operations that are at most this many milliseconds older than the newest one of an
 * earlier list.
 */
const listSettleMs = 60_000;

/**
 * Returns which part of the log a resource needs, by its stored watermark. Do not call it for a resource whose
 * records are not proven its own. Such a resource never counts, so the log would be read back again and again.
 * @returns `undefined`: the resource has no log yet, or its watermark cannot be parsed.
 */
export function logNeedOf(uid: string, stored: OperationWatermark | undefined): LogNeed | undefined {
  const mark = parseMark(stored);
  if (mark === undefined) {
    return undefined;
  }
  // A log without any operation begins at createdMs. Its floor is earlier only because clocks may differ.
  const sinceMs = mark.met.size === 0 ? mark.createdMs : mark.floorMs + 1;
  return {
    uid,
    sinceMs,
    certainMs: Math.max(sinceMs, mark.createdMs - listSettleMs),
    unfinishedIds: mark.unfinishedIds,
  };
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
