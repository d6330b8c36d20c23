/** Computes the failed operations that LastOperationSucceeded shows. */
import { isLater, type Operation, outcomeOf } from "../domain/operation.ts";
import { type ComputeEndpointStatus, type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribution.ts";
import { shortError } from "./shown.ts";

/** A failed operation that is not cleared yet. */
export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

/** The maximum number of failures that status keeps, one for each action. */
const failedActionsLimit = 20;

/** The facts that decide whether the operator reports a failure as new. */
export interface FailureContext {
  /** The operation that the annotation `acknowledge-operation` names; `undefined`: none. */
  readonly acknowledgedOperationId: string | undefined;
  /** Ids of the operations that this step counts. */
  readonly endedIds: ReadonlySet<string>;
  /** The operations that status shows at present. */
  readonly shown: readonly StatusOperation[];
  /**
   * Ids of operations that are not counted only because their times are too old: the control plane's clock stepped
   * back.
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
  for (const { operation, outcome } of [...operations].reverse()) {
    const { action, id } = operation;
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
