import type { OperationWatermark } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";

/** How far the log has been counted now, and what came to its end since. */
export interface WatermarkStep {
  readonly watermark: OperationWatermark | undefined;
  /** Operations that ended since the last watermark: to be counted once the new one is stored. */
  readonly ended: readonly AttributedOperation[];
}

/** Unfinished operations kept below the watermark; the service locks a project, so a few are many. */
const unfinishedLimit = 50;

/**
 * Moves the watermark over one reading of the log. Each ended operation is in `ended` of at most one step, however
 * readings overlap, because the watermark names the newest time seen, the ids at that time, and what was unfinished;
 * and of exactly one if it was met in time: one that shows up ended and late, below the watermark, is not counted.
 *
 * @param operations newest first.
 * @param sinceTime RFC 3339: operations that ended before it belong to somebody else's history.
 */
export function advanceWatermark(
  previous: OperationWatermark | undefined,
  operations: readonly AttributedOperation[],
  sinceTime: string,
): WatermarkStep {
  const isAfterStart = (each: AttributedOperation) =>
    Date.parse(each.operation.updatedTime) >= Date.parse(sinceTime) || !hasEnded(each);
  const ended = operations.filter((each) => hasEnded(each) && isAfterStart(each) && isUncounted(each, previous));
  return { watermark: nextWatermark(previous, operations), ended };
}

function nextWatermark(
  previous: OperationWatermark | undefined,
  operations: readonly AttributedOperation[],
): OperationWatermark | undefined {
  const newest = operations[0]?.operation.createdTime;
  if (newest === undefined) {
    return previous;
  }
  const createdTime = previous !== undefined && isLater(previous.createdTime, newest) ? previous.createdTime : newest;
  const idsAtTime = operations.filter(({ operation }) => isSameTime(operation.createdTime, createdTime));
  const kept = previous !== undefined && isSameTime(previous.createdTime, createdTime) ? previous.ids : [];
  const unfinished = operations
    .filter((each) => !hasEnded(each) && mayStillCount(each, previous))
    .map(({ operation }) => operation.id);
  const unseen = (previous?.unfinishedIds ?? []).filter(
    (id) => !operations.some(({ operation }) => operation.id === id),
  );
  return {
    createdTime,
    ids: sortedUnion(
      kept,
      idsAtTime.map(({ operation }) => operation.id),
    ),
    unfinishedIds: sortedUnion(unseen, unfinished).slice(-unfinishedLimit),
  };
}

function isUncounted({ operation }: AttributedOperation, previous: OperationWatermark | undefined): boolean {
  if (previous === undefined || previous.unfinishedIds.includes(operation.id)) {
    return true;
  }
  const isNewer = isLater(operation.createdTime, previous.createdTime);
  return isNewer || (isSameTime(operation.createdTime, previous.createdTime) && !previous.ids.includes(operation.id));
}

/**
 * The service may take up a failed operation again. Its first end was counted, so below the watermark only one that has
 * never failed is waited for: that one is met for the first time, because lists lag.
 */
function mayStillCount(each: AttributedOperation, previous: OperationWatermark | undefined): boolean {
  return isUncounted(each, previous) || each.operation.failuresCount === 0;
}

/** A status we do not know may be an end or not: it is counted when it becomes one we know. */
function hasEnded({ outcome }: AttributedOperation): boolean {
  return outcome === "Succeeded" || outcome === "Failed";
}

function isLater(a: string, b: string): boolean {
  return Date.parse(a) > Date.parse(b);
}

function isSameTime(a: string, b: string): boolean {
  return Date.parse(a) === Date.parse(b);
}

function sortedUnion(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])].sort();
}
