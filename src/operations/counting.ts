/**
 * Decides which operations are counted, and counts them. The watermark of a resource marks how far its operations are
 * counted. Ended operations are pending in memory until the operator sees a stored watermark that holds them.
 */
import {
  type AttributedOperation,
  isInFlight,
  type Operation,
  type OperationMetrics,
  outcomeOf,
} from "../domain/operation.ts";
import { type EventRecorder, type StoredIdentity, warning } from "../domain/resource-store.ts";
import { type Keeper, watermarkIn } from "../resource/bookkeeping.ts";
import type { HistoryRange } from "./reader.ts";
import { createdMsOf } from "./snapshot.ts";
import { shortError } from "./status-operations.ts";

/**
 * The parsed watermark, in epoch milliseconds of the control plane's clock. It holds an operation whose id it counts, and
 * one that is at or below the floor and not unfinished.
 */
export interface LogMark extends HistoryRange {
  /** Operations that were counted and created after `floorMs`: their creation times by id. */
  readonly counted: ReadonlyMap<string, number>;
}

const idsLimit = 32;

/**
 * The floor stays this many milliseconds behind the newest operation. Clocks of the control plane's machines differ by
 * seconds, and an operation may show an unknown status before it ends.
 */
const floorBehindMs = 600_000;

/**
 * If the floor of the watermark has risen by this many milliseconds, the watermark is stored although nothing else
 * changed. This limits how far back a new process reads, and how many operations a process keeps.
 */
const longestBehindMs = 21_600_000;

export interface MarkInput {
  /** Newest first. */
  readonly operations: readonly AttributedOperation[];
  /** When the newest operation of the project was created; epoch milliseconds. */
  readonly newestMs: number;
  /** Ids of operations that answers of this reconcile named. They are new, whatever their times are. */
  readonly answeredIds: readonly string[];
}

/** Finds the operations that ended and are not counted yet, and moves the mark past them. */
export function advanceMark(before: LogMark, { operations, newestMs, answeredIds }: MarkInput) {
  const isDue = (operation: Operation) =>
    before.unfinishedIds.includes(operation.id) ||
    (!before.counted.has(operation.id) && createdMsOf(operation) > before.floorMs);
  const hasEnded = (operation: Operation) => ["Succeeded", "Failed"].includes(outcomeOf(operation));
  const ended = operations.filter((operation) => hasEnded(operation) && isDue(operation));
  const inFlightIds = operations
    .filter((operation) => isInFlight(operation) && (isDue(operation) || answeredIds.includes(operation.id)))
    .map(({ id }) => id);
  const shownIds = new Set(operations.map(({ id }) => id));
  const unseenIds = before.unfinishedIds.filter((id) => !shownIds.has(id));
  const endedTimes = ended.map((operation) => [operation.id, createdMsOf(operation)] as const);
  const floorMs = Math.max(before.floorMs, newestMs - floorBehindMs);
  const mark: LogMark = {
    ...boundCounted([...before.counted, ...endedTimes], floorMs),
    // The oldest have no room, and are never counted. One that no read shows is older than all that are shown.
    unfinishedIds: [...inFlightIds, ...unseenIds].slice(0, idsLimit).sort(),
  };
  return { mark, ended };
}

/** Forgets the operations at or below the floor. If too many are left, the floor rises to the newest forgotten one. */
function boundCounted(counted: readonly (readonly [string, number])[], floorMs: number) {
  const newestFirst = counted.filter(([, createdMs]) => createdMs > floorMs).sort(([, a], [, b]) => b - a);
  const raisedMs = newestFirst[idsLimit]?.[1] ?? floorMs;
  return { floorMs: raisedMs, counted: new Map(newestFirst.filter(([, createdMs]) => createdMs > raisedMs)) };
}

/** Whether a mark must be stored although nothing was counted. */
export function isWorthStoring(stored: LogMark | undefined, next: LogMark): boolean {
  return stored === undefined || next.floorMs - stored.floorMs >= longestBehindMs;
}

/**
 * Counts the pending operations that a stored status holds, and publishes an event for each failure. Call it with every
 * status that the API server returns or shows. Nothing else counts.
 */
export function countStored(
  { metrics, events }: { readonly metrics: OperationMetrics; readonly events: EventRecorder },
  pending: Map<string, AttributedOperation>,
  resource: StoredIdentity & { readonly status: Keeper },
): void {
  const mark = pending.size === 0 ? undefined : parseMark(resource.status);
  for (const operation of mark === undefined ? [] : [...pending.values()].filter((each) => holds(mark, each))) {
    pending.delete(operation.id);
    metrics.countEnded(operation, resource.key);
    if (outcomeOf(operation) === "Failed") {
      // Failures of one action with one error text become a series of one event.
      const { error } = shortError(operation);
      const note = `Operation ${operation.action} failed${error === undefined ? "" : `: ${error}`}`;
      events.record(resource, warning("OperationFailed", "Observe", note));
    }
  }
}

function holds({ floorMs, counted, unfinishedIds }: LogMark, operation: Operation): boolean {
  const { id } = operation;
  return !unfinishedIds.includes(id) && (counted.has(id) || createdMsOf(operation) <= floorMs);
}

/** Reads the stored form of a mark. @returns `undefined` if there is none, or it cannot be parsed */
export function parseMark(status: Keeper): LogMark | undefined {
  const stored = watermarkIn(status);
  return stored && { ...stored, counted: new Map(stored.counted) };
}

export function formatMark({ counted, ...mark }: LogMark): string {
  const oldestFirst = [...counted].sort(([a, aMs], [b, bMs]) => aMs - bMs || (a < b ? -1 : 1));
  return JSON.stringify({ ...mark, counted: oldestFirst });
}
