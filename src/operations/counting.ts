/**
 * Counts operations, and reads and writes the watermark of a resource: how far its operations are counted. Ended operations are pending in memory until the operator sees a stored watermark that holds them.
 */
import { type AttributedOperation, type Operation, type OperationMetrics, outcomeOf } from "../domain/operation.ts";
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
