/** Computes what status shows of operations: the recent ones, and the failures of LastOperationSucceeded. */
import { type AttributedOperation, durationMsOf, isInFlight, type Operation, outcomeOf } from "../domain/operation.ts";
import { type ResourceEvent, warning } from "../domain/resource-store.ts";
import type { ComputeEndpointStatus, StatusOperation } from "../resource/status-schema.ts";
import { isBelieved, type OperationsSnapshot } from "./reader.ts";

/** The maximum number of characters of an operation's error in status. */
const errorLimit = 256;

const shownLimits = { ended: 5, all: 20 };

/**
 * Selects the operations that status shows, at most twenty: first the unfinished ones, then the five most recent.
 *
 * An availability check is left out unless it failed, so that a resource at rest causes no writes. An entry changes
 * only if the operation has another status or number of failures. An ended entry that is not in the snapshot stays as
 * it is, because a new process reads only a small part of the log.
 */
export function shownOperations(
  newestFirst: readonly AttributedOperation[],
  previous: readonly StatusOperation[],
  snapshot: Pick<OperationsSnapshot, "byId" | "unseenIds">,
): StatusOperation[] {
  const stored = new Map(previous.map((entry) => [entry.id, entry]));
  const entries = newestFirst
    .filter((operation) => operation.action !== "check_availability" || outcomeOf(operation) === "Failed")
    .map((operation) => {
      const entry = stored.get(operation.id);
      return entry !== undefined && isUnchanged(entry, operation) ? entry : statusOperation(operation, entry);
    });
  const kept = previous.filter(
    (entry) => !snapshot.byId.has(entry.id) && (!isInFlight(entry) || snapshot.unseenIds.has(entry.id)),
  );
  const sorted = [...entries, ...kept].sort(compareForReading);
  const count = sorted.filter(isInFlight).length + shownLimits.ended;
  return sorted.slice(0, Math.min(count, shownLimits.all));
}

/** Failures of one action with one error text become a series of one event. */
export function failureEvent(operation: Operation): ResourceEvent {
  const { error } = shortError(operation);
  const note = `Operation ${operation.action} failed${error === undefined ? "" : `: ${error}`}`;
  return warning("OperationFailed", "Observe", note);
}

function shortError({ error }: Partial<Pick<Operation, "error">>): { readonly error?: string } {
  return error === undefined ? {} : { error: error.slice(0, errorLimit) };
}

/** The control plane's text on a failure, shortened, for the end of a sentence: `: no room`. "": it gives none. */
export function failureCause(operation: Partial<Pick<Operation, "error">>): string {
  const { error = "" } = shortError(operation);
  return error && `: ${error.replace(/\.$/, "")}`;
}

/** Unfinished operations come first, and of those a running one before a scheduled one. `kubectl get` shows the first. */
function compareForReading(a: StatusOperation, b: StatusOperation): number {
  return (
    Number(isInFlight(b)) - Number(isInFlight(a)) ||
    Number(a.status === "scheduling") - Number(b.status === "scheduling") ||
    Date.parse(b.createdTime) - Date.parse(a.createdTime) ||
    0
  );
}

function isUnchanged(stored: StatusOperation, operation: Operation): boolean {
  const isSame = stored.status === operation.status && (stored.failuresCount ?? 0) === operation.failuresCount;
  return isSame || !isBelieved(stored, operation);
}

/** The cause stays as it was first found, because the operation that proved it may be forgotten by now. */
function statusOperation(operation: AttributedOperation, stored?: StatusOperation): StatusOperation {
  const durationMs = isInFlight(operation) ? undefined : durationMsOf(operation);
  return {
    id: operation.id,
    action: operation.action,
    status: operation.status,
    ...(operation.failuresCount > 0 && { failuresCount: operation.failuresCount }),
    cause: stored?.cause ?? operation.cause,
    createdTime: operation.createdTime,
    updatedTime: operation.updatedTime,
    ...(durationMs === undefined ? {} : { durationMilliseconds: Math.round(durationMs) }),
    ...shortError(operation),
  };
}

export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

const failedActionsLimit = 20;

/**
 * Returns the failures that LastOperationSucceeded shows, one for each action.
 *
 * A later success of the same action clears a failure. So does a success of the same operation, because the control
 * plane may retry it, and so does the annotation. A read that does not show the failure does not clear it.
 *
 * @param ended the operations that the watermark now marks as counted, newest first. They ended later than any failure
 *   in status, whatever their times are.
 */
export function failuresAfter(
  previous: readonly FailedAction[],
  ended: readonly AttributedOperation[],
  byId: ReadonlyMap<string, Operation>,
  { acknowledgedOperationId }: { readonly acknowledgedOperationId: string | undefined },
): FailedAction[] {
  const isHealed = (id: string) => outcomeOf(byId.get(id) ?? { status: "failed" }) === "Succeeded";
  const kept = previous.filter(({ operationId }) => !isHealed(operationId));
  const failures = new Map(kept.map((failure) => [failure.action, failure]));
  for (const operation of [...ended].reverse()) {
    const { action, id, updatedTime } = operation;
    if (outcomeOf(operation) === "Failed") {
      failures.set(action, { action, operationId: id, time: updatedTime, ...shortError(operation) });
    } else {
      failures.delete(action);
    }
  }
  return [...failures.values()]
    .filter(({ operationId }) => operationId !== acknowledgedOperationId)
    .sort((a, b) => (a.action < b.action ? -1 : 1))
    .slice(0, failedActionsLimit);
}
