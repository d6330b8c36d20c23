/** Selects the operations that status shows. */
import { durationMsOf, isInFlight, type Operation, type OperationCause } from "../domain/operation.ts";
import { type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribution.ts";
import type { OperationsSnapshot } from "./known-operations.ts";

/** The maximum number of characters of an operation's error in status. */
const errorLimit = 256;

/**
 * Selects the operations that status shows, at most twenty: first the unfinished ones, then the most recent.
 *
 * An availability check is left out unless it failed, so that a resource at rest causes no writes. An entry changes
 * only if the operation has another status or number of failures, or if its cause is proven better. An ended entry that
 * is not in the snapshot stays as it is. After a restart only a small part of the log is read.
 *
 * @param operations the operations of the resource, newest first.
 * @param previous the operations that status shows now.
 */
export function shownOperations(
  operations: readonly AttributedOperation[],
  previous: readonly StatusOperation[],
  snapshot: Pick<OperationsSnapshot, "byId" | "unseenIds">,
): StatusOperation[] {
  const candidates = operations.filter(
    ({ operation, outcome }) => operation.action !== "check_availability" || outcome === "Failed",
  );
  const newestOf = (isWanted: (each: AttributedOperation) => boolean) =>
    candidates
      .filter(isWanted)
      .sort((a, b) => compareForReading(a.operation, b.operation))
      .slice(0, statusOperationsLimit)
      .map((each) => unchangedEntry(each, previous) ?? statusOperation(each));
  const candidateIds = new Set(operations.map(({ operation }) => operation.id));
  const kept = previous.filter(
    (entry) =>
      !candidateIds.has(entry.id) &&
      !snapshot.byId.has(entry.id) &&
      (!isInFlight(entry) || snapshot.unseenIds.has(entry.id)),
  );
  const inFlight = [...newestOf(({ outcome }) => outcome === "InFlight"), ...kept.filter(isInFlight)];
  const ended = [...newestOf(({ outcome }) => outcome !== "InFlight"), ...kept.filter((entry) => !isInFlight(entry))];
  return [...inFlight.sort(compareForReading), ...ended.sort(compareForReading)].slice(0, statusOperationsLimit);
}

/** Returns the control plane's error text, shortened for status; no member if there is none. */
export function shortError({ error }: Pick<Operation, "error">): { readonly error?: string } {
  return error === undefined ? {} : { error: error.slice(0, errorLimit) };
}

type Timed = Pick<StatusOperation, "status" | "createdTime" | "updatedTime">;

/**
 * Compares operations for status. A running operation comes before a scheduled one. Of two with the same creation time,
 * the one changed last comes first. `kubectl get -o wide` shows the first entry.
 */
function compareForReading(a: Timed, b: Timed): number {
  return (
    Number(a.status === "scheduling") - Number(b.status === "scheduling") ||
    Date.parse(b.createdTime) - Date.parse(a.createdTime) ||
    Date.parse(b.updatedTime) - Date.parse(a.updatedTime) ||
    0
  );
}

/**
 * How strong the evidence for a cause is: 2 = an answer to the operator's own call, 1 = another operation in the log, 0
 * = none.
 */
const evidence: Readonly<Record<OperationCause, number>> = { SpecChange: 2, Other: 1, ControlPlane: 0 };

/**
 * Returns the stored entry if status and number of failures are the same and the new cause has no stronger evidence.
 * The operation that proved the stored cause may be forgotten by now. `undefined`: the entry is new or has changed.
 */
function unchangedEntry({ operation, cause }: AttributedOperation, previous: readonly StatusOperation[]) {
  return previous.find(
    (entry) =>
      entry.id === operation.id &&
      entry.status === operation.status &&
      entry.failuresCount === operation.failuresCount &&
      evidence[entry.cause] >= evidence[cause],
  );
}

function statusOperation({ operation, cause, outcome }: AttributedOperation): StatusOperation {
  const durationMs = outcome === "InFlight" ? undefined : durationMsOf(operation);
  return {
    id: operation.id,
    action: operation.action,
    status: operation.status,
    failuresCount: operation.failuresCount,
    cause,
    createdTime: operation.createdTime,
    updatedTime: operation.updatedTime,
    ...(durationMs === undefined ? {} : { durationMilliseconds: Math.round(durationMs) }),
    ...shortError(operation),
  };
}
