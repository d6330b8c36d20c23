/** Computes what status shows of operations: the recent ones, and the failures of LastOperationSucceeded. */
import {
  durationMsOf,
  isInFlight,
  isLater,
  type Operation,
  type OperationCause,
  outcomeOf,
} from "../domain/operation.ts";
import { type ComputeEndpointStatus, type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { OperationsSnapshot } from "./known-operations.ts";
import type { AttributedOperation } from "./watermark.ts";

/** The maximum number of characters of an operation's error in status. */
const errorLimit = 256;

/**
 * Selects the operations that status shows, at most twenty: first the unfinished ones, then the most recent.
 *
 * An availability check is left out unless it failed, so that a resource at rest causes no writes. An entry changes
 * only if the operation has another status or number of failures, or if there is stronger evidence for its cause. An
 * ended entry that is not in the snapshot stays as it is, because a new process reads only a small part of the log.
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
    ({ operation }) => operation.action !== "check_availability" || outcomeOf(operation) === "Failed",
  );
  const entries = candidates
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
  return [...entries, ...kept].sort(compareForReading).slice(0, statusOperationsLimit);
}

/** Returns the control plane's error text, shortened for status; no member if there is none. */
export function shortError({ error }: Pick<Operation, "error">): { readonly error?: string } {
  return error === undefined ? {} : { error: error.slice(0, errorLimit) };
}

type Timed = Pick<StatusOperation, "status" | "createdTime" | "updatedTime">;

/**
 * Compares operations for status. Unfinished ones come first, and of those a running one before a scheduled one. Of two
 * with the same creation time, the one changed last comes first. `kubectl get -o wide` shows the first entry.
 */
function compareForReading(a: Timed, b: Timed): number {
  return (
    Number(isInFlight(b)) - Number(isInFlight(a)) ||
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

function statusOperation({ operation, cause }: AttributedOperation): StatusOperation {
  const durationMs = isInFlight(operation) ? undefined : durationMsOf(operation);
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

/** A failed operation that is not cleared yet. */
export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

/** The maximum number of failures that status keeps, one for each action. */
const failedActionsLimit = 20;

/** The facts that decide whether the operator reports a failure as new. */
export interface FailureContext {
  /** The operation that the annotation `acknowledge-operation` names; `undefined`: none. */
  readonly acknowledgedOperationId: string | undefined;
  /** Ids of the ended operations that the watermark now marks as counted. */
  readonly endedIds: ReadonlySet<string>;
  /** The operations that status shows at present. */
  readonly shown: readonly StatusOperation[];
  /**
   * Ids of operations that may never have been counted, because the control plane's clock stepped back and their times
   * are too old. Operations that were counted long ago are among them.
   */
  readonly missedIds: ReadonlySet<string>;
}

/**
 * Returns the failures that LastOperationSucceeded shows, one for each action.
 *
 * A later success of the same action clears a failure. So does a success of the same operation, because the control
 * plane may retry it, and so does the annotation. A read that does not show the failure does not clear it.
 * Operations that this step counts are later than any failure in status, whatever their times are: the control
 * plane's clock may step back.
 *
 * @param operations newest first.
 */
export function failuresAfter(
  previous: readonly FailedAction[],
  operations: readonly AttributedOperation[],
  context: FailureContext,
): FailedAction[] {
  const { acknowledgedOperationId, endedIds } = context;
  const storedIds = new Set(previous.map(({ operationId }) => operationId));
  const failures = new Map(previous.map((failure) => [failure.action, failure]));
  for (const { operation } of [...operations].reverse()) {
    const { action, id } = operation;
    const outcome = outcomeOf(operation);
    const known = failures.get(action);
    const isLaterThanKnown =
      known === undefined ||
      known.operationId === id ||
      (storedIds.has(known.operationId) && endedIds.has(id)) ||
      !isLater(known.time, operation.updatedTime);
    if (outcome === "Failed" && isNewFailure(operation, context)) {
      if (isLaterThanKnown && id !== acknowledgedOperationId) {
        failures.set(action, { action, operationId: id, time: operation.updatedTime, ...shortError(operation) });
      }
    } else if (outcome === "Succeeded" && isLaterThanKnown) {
      failures.delete(action);
    }
  }
  return withoutAcknowledged([...failures.values()], acknowledgedOperationId)
    .sort((a, b) => (a.action < b.action ? -1 : 1))
    .slice(0, failedActionsLimit);
}

/** Returns the failures without the one that the annotation acknowledges. */
export function withoutAcknowledged(
  failures: readonly FailedAction[],
  acknowledgedOperationId: string | undefined,
): FailedAction[] {
  return failures.filter(({ operationId }) => operationId !== acknowledgedOperationId);
}

/**
 * Whether a failure is new. An operation that was counted before is a new failure only if status shows that it has
 * failed again since. A failure that is not counted because of its time alone is still reported.
 */
function isNewFailure(operation: Operation, { shown, endedIds, missedIds }: FailureContext): boolean {
  if (endedIds.has(operation.id)) {
    return true;
  }
  const before = shown.find(({ id }) => id === operation.id);
  return before === undefined
    ? missedIds.has(operation.id) && !isPushedOut(operation, shown)
    : outcomeOf(before) !== "Failed" || before.failuresCount !== operation.failuresCount;
}

/**
 * Whether status may have shown the operation earlier. Status has room only for the most recent operations, and this
 * one is older than all of them.
 */
function isPushedOut({ createdTime }: Operation, shown: readonly StatusOperation[]): boolean {
  const oldest = shown.at(-1);
  return oldest !== undefined && shown.length >= statusOperationsLimit && !isLater(createdTime, oldest.createdTime);
}
