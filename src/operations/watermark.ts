import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { LogBranch, OperationWatermark } from "../resource/status-schema.ts";
import { type AttributedOperation, createdTogetherMs } from "./attribution.ts";
import { hasEnded, type OperationsSnapshot } from "./known-operations.ts";

/**
 * How far the operation log of one resource has been counted. All times are epoch milliseconds of the control plane's
 * clock.
 *
 * An operation is counted when it has ended, and when it is either named in `unfinishedIds`, or was created after
 * `floorMs` and is not in `met`. Each operation that a reduce shows is put into `met`, and leaves it only when `floorMs`
 * rises to its creation time or beyond. So no operation is counted twice, in whatever order lists show them and
 * whatever times they carry.
 */
export interface LogMark {
  readonly floorMs: number;
  /** Operations created after `floorMs` that were shown before, with their creation times. */
  readonly met: ReadonlyMap<string, number>;
  /** Operations that had not ended when they were shown last, and are still to be counted. */
  readonly unfinishedIds: readonly string[];
  /** The newest creation time counted. The version before this one starts from here; it knows no floor. */
  readonly createdMs: number;
  /** RFC 3339: where the log of the present endpoint began. */
  readonly sinceTime: string;
  readonly branch: LogBranch | undefined;
  readonly formerEndpointId: string | undefined;
}

/** What one step counts. */
export interface WatermarkStep {
  readonly mark: LogMark;
  /** Operations that ended since the last step: they are counted once the new mark is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Ids of unfinished operations for which the mark has no room: they are never counted. */
  readonly dropped: readonly string[];
}

/** Operations that a mark remembers by id. */
const metLimit = 32;

/** Unfinished operations that a mark waits for. The control plane locks a project, so a few are many. */
const unfinishedLimit = 50;

/** The floor stays this far behind the newest listed operation: later operations may carry earlier times by as much. */
const floorBehindMs = 90 * 60_000;

/** The clocks of the control plane's machines may differ by this much when an endpoint is created. */
const clockDifferenceMs = 60_000;

/** A status that we do not know may be an end. The operator does not wait longer than this after its last change. */
const unknownPatienceMs = 3_600_000;

/** The latest moment of the control plane's clock that a list has shown; an operation dated ahead does not move it. */
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
 * The log of an endpoint that the operator created begins with its creation; if it replaces another one, what that one
 * left unfinished is still counted.
 */
export function beginCreated(
  endpoint: ObservedEndpoint,
  previous: LogMark | undefined,
  referenceMs: number | undefined,
): LogMark {
  const createdMs = finiteOr(Date.parse(endpoint.createdTime), referenceMs ?? 0) - createdTogetherMs;
  const blank: Pick<LogMark, "floorMs" | "met" | "unfinishedIds" | "createdMs" | "formerEndpointId"> = {
    // An operation that names the endpoint is never older than it, so an earlier time only shows that a clock stepped back.
    floorMs: createdMs - floorBehindMs,
    met: new Map(),
    unfinishedIds: [],
    createdMs,
    formerEndpointId: undefined,
  };
  // A list that is far ahead of the creation shows that the clock stepped back: another resource may have counted that.
  const isAhead = referenceMs !== undefined && referenceMs - createdMs > clockDifferenceMs;
  const branchSinceTime = isAhead ? timeText(referenceMs) : endpoint.createdTime;
  return { ...blank, ...previous, sinceTime: timeText(createdMs), branch: branchOf(endpoint, branchSinceTime) };
}

/**
 * The log of an adopted endpoint begins with what the lists show at that moment. What has ended by then is history and
 * is never counted. What has not ended is counted when it ends.
 *
 * @param operations those of the endpoint that are known.
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
 *
 * @param operations those of the resource that the snapshot shows.
 * @param answeredIds operations that an answer to a write of this reconcile has named: they are new, whatever their
 * times are.
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
 * The endpoint was seen on another branch: from now on the operations of that branch count. What ran there before
 * belongs to another resource.
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

/** Forgets the operations at or below the floor; if too many are left, the floor rises to the newest forgotten one. */
function boundMet(met: ReadonlyMap<string, number>, floorMs: number): Pick<LogMark, "met" | "floorMs"> {
  const newestFirst = [...met].filter(([, createdMs]) => createdMs > floorMs).sort(([, a], [, b]) => b - a);
  const raisedMs = newestFirst[metLimit]?.[1] ?? floorMs;
  return { floorMs: raisedMs, met: new Map(newestFirst.filter(([, createdMs]) => createdMs > raisedMs)) };
}

/** An operation that the snapshot does not show counts as the oldest. */
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

/**
 * Reads the stored form.
 *
 * `createdTime`, and the ids created at that very time, mean what they mean to the version before this one. That version
 * ignores the other entries of `ids`: `"<time> <id>"` is an operation met that was created earlier, and `"<time>"` alone is
 * the floor. Without such an entry the floor is just before `createdTime`.
 *
 * @returns `undefined` if there is no watermark or its time cannot be read.
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

/** Writes the stored form: equal marks give equal text. */
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

/** The largest distance from 1970 that a date can hold, in milliseconds. */
const farthestMs = 8.64e15;

/** ISO 8601. A time that a date cannot hold becomes the nearest one that fits: the reducer never throws. */
function timeText(ms: number): string {
  return new Date(Math.min(Math.max(ms, -farthestMs), farthestMs)).toISOString();
}
