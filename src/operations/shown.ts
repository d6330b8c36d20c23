import { durationMsOf, isInFlight, type Operation, type OperationCause } from "../domain/operation.ts";
import { type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribution.ts";
import type { OperationsSnapshot } from "./known-operations.ts";

/** Characters of an operation's error that status shows. */
const errorLimit = 256;

/**
 * Chooses the operations that status shows: in flight first, then the most recent, at most twenty.
 *
 * A successful availability check is left out, so that a resource at rest causes no writes. An entry is rewritten only
 * if the operation's status has changed. An ended entry that the snapshot does not hold stays as it is: after a restart
 * little of the log is read.
 *
 * @param operations those of the resource, newest first.
 * @param previous what status shows now.
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

/** The control plane's text on a failure, shortened for status; nothing if it gave none. */
export function shortError({ error }: Pick<Operation, "error">): { readonly error?: string } {
  return error === undefined ? {} : { error: error.slice(0, errorLimit) };
}

type Timed = Pick<StatusOperation, "status" | "createdTime" | "updatedTime">;

/**
 * A running operation comes before a scheduled one. Of operations created at the same time, the one changed last comes
 * first. `kubectl get -o wide` shows the first entry.
 */
function compareForReading(a: Timed, b: Timed): number {
  return (
    Number(a.status === "scheduling") - Number(b.status === "scheduling") ||
    Date.parse(b.createdTime) - Date.parse(a.createdTime) ||
    Date.parse(b.updatedTime) - Date.parse(a.updatedTime) ||
    0
  );
}

/** How much must be known to attribute a cause: an answer to the operator's own call, a sibling in the log, nothing. */
const evidence: Readonly<Record<OperationCause, number>> = { SpecChange: 2, Other: 1, ControlPlane: 0 };

/** The operation that proved a cause may be forgotten by now, so a cause with less evidence changes nothing. */
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
