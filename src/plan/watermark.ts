import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isLater } from "../domain/operation.ts";
import type { OperationWatermark, Ownership } from "../resource/status-schema.ts";
import { type AttributedOperation, createdTogetherMs } from "./attribute-operations.ts";

/** What one reading shows of the log, as far as it concerns a resource. */
export interface LogReading {
  /** Newest first; those that the watermark still waits for are among them if the reading shows them. */
  readonly operations: readonly AttributedOperation[];
  /** @see ProjectReading */
  readonly newestListedTime: string | undefined;
}

/** How far the log has been counted now, and what came to its end since. */
export interface WatermarkStep {
  readonly watermark: OperationWatermark;
  /** Operations that ended since the last watermark: to be counted once the new one is stored. */
  readonly ended: readonly AttributedOperation[];
  /** Ids of operations that had not ended, and for which the new watermark has no room: they are never counted. */
  readonly dropped: readonly string[];
}

/** Unfinished operations kept below the watermark; the service locks a project, so a few are many. */
const unfinishedLimit = 50;

/** A status we do not know may be an end: it is not waited for longer than this after its last change. */
const unknownPatienceMs = 3_600_000;

/**
 * What a list has shown, a later list may complete by something that was created before it, but not long before it: so
 * far behind the newest operation the watermark stays, unless an operation of the resource's own says otherwise.
 */
const listSettleMs = 60_000;

/** What a resource's log begins with. */
export interface LogBeginning extends LogReading {
  readonly origin: Ownership["origin"];
  readonly endpoint: ObservedEndpoint;
  /** Of the endpoint that this one replaces. */
  readonly previous: OperationWatermark | undefined;
}

/**
 * Where the log of a resource begins, by the service's clock alone. Nothing is counted in the pass that records
 * ownership: the next reading goes back to this watermark, however far that is.
 *
 * An endpoint that we made: with its creation, or where that of the endpoint before it stopped. An adopted one: with the
 * newest operation that the lists have shown when it was taken over; what had ended by then is somebody else's history,
 * what had not will be counted.
 */
export function beginWatermark(beginning: LogBeginning): WatermarkStep {
  const { origin, endpoint, previous, newestListedTime, operations } = beginning;
  const branchFrom = (sinceTime: string) =>
    endpoint.type === "ReadWrite" ? { branch: { id: endpoint.branchId, sinceTime } } : {};
  if (origin !== "Adopted") {
    const sinceTime = timeBefore(endpoint.createdTime, createdTogetherMs);
    const blank = { createdTime: sinceTime, ids: [], unfinishedIds: [] };
    const watermark = { ...blank, ...previous, sinceTime, ...branchFrom(endpoint.createdTime) };
    return { watermark, ended: [], dropped: [] };
  }
  const sinceTime = newestListedTime ?? endpoint.createdTime;
  const { unfinishedIds = [], ...former } = previous ?? {};
  const open = idsOf(operations.filter((each) => !hasEnded(each)));
  const { kept, dropped } = keepNewest([...unfinishedIds, ...open], operations);
  const watermark = {
    ...former,
    sinceTime,
    ...branchFrom(sinceTime),
    createdTime: sinceTime,
    ids: idsAt(operations, sinceTime).sort(),
    unfinishedIds: kept,
  };
  return { watermark, ended: [], dropped };
}

/**
 * The endpoint was seen on another branch: from now on that one's operations count. What ran there before is not ours,
 * and what runs on the branch it left may be the next one's.
 */
export function moveWatermark(
  watermark: OperationWatermark,
  endpoint: ObservedEndpoint | undefined,
  newestListedTime: string | undefined,
): OperationWatermark {
  const isElsewhere = endpoint?.type === "ReadWrite" && endpoint.branchId !== watermark.branch?.id;
  return isElsewhere
    ? { ...watermark, branch: { id: endpoint.branchId, sinceTime: newestListedTime ?? watermark.createdTime } }
    : watermark;
}

/**
 * Moves the watermark over one reading of the log. Each ended operation is in `ended` of exactly one step, however
 * readings overlap, because the watermark names a time, the ids met at that time, and what was unfinished; and because
 * it never passes what the lists have not shown: an answer to a write runs ahead of them.
 */
export function advanceWatermark(
  previous: OperationWatermark,
  { operations, newestListedTime }: LogReading,
): WatermarkStep {
  if (newestListedTime === undefined) {
    return { watermark: previous, ended: [], dropped: [] };
  }
  const listed = operations.filter(({ operation }) => !isLater(operation.createdTime, newestListedTime));
  const ended = listed.filter((each) => hasEnded(each) && isUncounted(each, previous));
  return { ...nextWatermark(previous, listed, newestListedTime), ended };
}

function nextWatermark(
  previous: OperationWatermark,
  listed: readonly AttributedOperation[],
  newestListedTime: string,
): Omit<WatermarkStep, "ended"> {
  const own = listed[0]?.operation.createdTime;
  const createdTime = latest(previous.createdTime, timeBefore(newestListedTime, listSettleMs), own);
  const idsBefore = isSameTime(previous.createdTime, createdTime) ? previous.ids : [];
  const isOpen = (each: AttributedOperation) => !hasEnded(each) && !isGivenUp(each, newestListedTime);
  const unfinished = idsOf(listed.filter((each) => isOpen(each) && isUncounted(each, previous)));
  const known = new Set(idsOf(listed));
  const unseen = previous.unfinishedIds.filter((id) => !known.has(id));
  const { kept, dropped } = keepNewest([...unseen, ...unfinished], listed);
  const ids = sortedUnion(idsBefore, idsAt(listed, createdTime));
  return { watermark: { ...previous, createdTime, ids, unfinishedIds: kept }, dropped };
}

/**
 * Below the watermark only what it names as unfinished. Anything else has been counted, also when it is shown as running:
 * by a list that shows the past, or because the service has taken up a failed operation again.
 */
function isUncounted({ operation }: AttributedOperation, previous: OperationWatermark): boolean {
  if (previous.unfinishedIds.includes(operation.id)) {
    return true;
  }
  const isNewer = isLater(operation.createdTime, previous.createdTime);
  return isNewer || (isSameTime(operation.createdTime, previous.createdTime) && !previous.ids.includes(operation.id));
}

/** A status we do not know may be an end or not: it is counted when it becomes one we know, unless that takes too long. */
function hasEnded({ outcome }: AttributedOperation): boolean {
  return outcome === "Succeeded" || outcome === "Failed";
}

function isGivenUp({ operation, outcome }: AttributedOperation, newestListedTime: string): boolean {
  return outcome === "Unknown" && isLater(timeBefore(newestListedTime, unknownPatienceMs), operation.updatedTime);
}

function idsAt(operations: readonly AttributedOperation[], time: string): string[] {
  return idsOf(operations.filter(({ operation }) => isSameTime(operation.createdTime, time)));
}

function idsOf(operations: readonly AttributedOperation[]): string[] {
  return operations.map(({ operation }) => operation.id);
}

function latest(first: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((time, each) => (each !== undefined && isLater(each, time) ? each : time), first);
}

function isSameTime(a: string, b: string): boolean {
  return Date.parse(a) === Date.parse(b);
}

function timeBefore(time: string, milliseconds: number): string {
  return new Date(Date.parse(time) - milliseconds).toISOString();
}

function sortedUnion(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])].sort();
}

/** One that no reading shows has been waited for from before what this one shows: it counts as the oldest. */
function keepNewest(ids: readonly string[], operations: readonly AttributedOperation[]) {
  const createdMs = new Map(operations.map(({ operation }) => [operation.id, Date.parse(operation.createdTime)]));
  const ageRank = (id: string) => createdMs.get(id) ?? 0;
  const newestFirst = [...new Set(ids)].sort().sort((a, b) => ageRank(b) - ageRank(a));
  return { kept: newestFirst.slice(0, unfinishedLimit).sort(), dropped: newestFirst.slice(unfinishedLimit) };
}
