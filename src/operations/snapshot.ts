import { compareNewestFirst, type Operation, outcomeOf } from "../domain/operation.ts";

export interface OperationsSnapshot {
  /** Newest first. Operations that cannot be found any more are left out. */
  readonly operations: readonly Operation[];
  /** The same operations by endpoint id, newest first. Operations without an endpoint have the key "". */
  readonly byEndpoint: ReadonlyMap<string, readonly Operation[]>;
  readonly byId: ReadonlyMap<string, Operation>;
  /** Ids of operations that are awaited and that no read has shown yet. */
  readonly unseenIds: ReadonlySet<string>;
}

/** Makes a snapshot with indexes, so that the list is not searched once for each resource. */
export function createSnapshot(operations: readonly Operation[], unseenIds: ReadonlySet<string>): OperationsSnapshot {
  const newestFirst = [...operations].sort(compareNewestFirst);
  return {
    operations: newestFirst,
    byEndpoint: Map.groupBy(newestFirst, ({ endpointId }) => endpointId ?? ""),
    byId: new Map(newestFirst.map((each) => [each.id, each])),
    unseenIds,
  };
}

/** Returns epoch milliseconds. -Infinity: there is no operation. */
export function createdMsOf(created: { readonly createdTime: string } | undefined): number {
  return created === undefined ? Number.NEGATIVE_INFINITY : Date.parse(created.createdTime);
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
