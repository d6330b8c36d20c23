/** The operations of one project as one reconcile knows them. */
import { compareNewestFirst, type Operation, outcomeOf } from "../domain/operation.ts";

/** The operations of one project at one moment. Times are of the control plane's clock. */
export interface OperationsSnapshot {
  /** Newest first. Operations that cannot be found any more are left out. */
  readonly operations: readonly Operation[];
  /** The same operations by endpoint id, newest first. Operations without an endpoint have the key "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** When the newest listed operation was created, epoch milliseconds; -Infinity: no list has shown an operation. */
  readonly newestListedMs: number;
  /** Ids of operations that are awaited and that no read has shown yet. */
  readonly unseenIds: ReadonlySet<string>;
}

/** Makes a snapshot with indexes, so that the list is not searched once for each resource. */
export function createSnapshot({
  operations,
  newestListedMs,
  unseenIds,
}: Pick<OperationsSnapshot, "operations" | "newestListedMs" | "unseenIds">): OperationsSnapshot {
  const newestFirst = [...operations].sort(compareNewestFirst);
  return {
    operations: newestFirst,
    byEndpoint: Map.groupBy(newestFirst, ({ endpointId }) => endpointId ?? ""),
    byId: new Map(newestFirst.map((each) => [each.id, each])),
    newestListedMs,
    unseenIds,
  };
}

/** Whether an operation has ended. An operation with an unknown status counts as not ended. */
export function hasEnded(operation: Pick<Operation, "status">): boolean {
  const outcome = outcomeOf(operation);
  return outcome === "Succeeded" || outcome === "Failed";
}

/**
 * Whether a later read of an operation counts. A succeeded operation stays so, and a failed one only becomes succeeded.
 * A list may be older than a read by id, and both may be older than the answer to a write.
 */
export function isBelieved(known: Pick<Operation, "status">, incoming: Pick<Operation, "status">): boolean {
  const outcome = outcomeOf(incoming);
  switch (outcomeOf(known)) {
    case "Succeeded":
      return outcome === "Succeeded";
    case "Failed":
      return outcome === "Succeeded" || outcome === "Failed";
    default:
      return true;
  }
}
