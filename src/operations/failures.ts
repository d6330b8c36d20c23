import { isLater, type Operation, outcomeOf } from "../domain/operation.ts";
import { type ComputeEndpointStatus, type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribution.ts";
import { shortError } from "./shown.ts";

/** A failure that nothing has cleared yet. */
export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

/** Failures that status keeps, one for each action. */
const failedActionsLimit = 20;

/** What decides whether a failure is new. */
export interface FailureContext {
  /** The operation that the annotation acknowledges. */
  readonly acknowledgedOperationId: string | undefined;
  /** Operations that this step counts. */
  readonly endedIds: ReadonlySet<string>;
  /** Operations as status shows them now. */
  readonly shown: readonly StatusOperation[];
  /** Ids of operations that are not counted only because their times are too far back: the clock stepped back. */
  readonly missedIds: ReadonlySet<string>;
}

/**
 * Returns the failures that LastOperationSucceeded remembers, one for each action.
 *
 * A failure is cleared by a later success of the same action, by a success of the same operation (the control plane may
 * retry it), or by acknowledgement. A read that shows no failure does not clear it. Against a failure that status holds
 * already, every operation counted in this step is later, whatever its times are: the control plane's clock may step back.
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

/** Leaves out the failure that the annotation acknowledges. */
export function withoutAcknowledged(
  failures: readonly FailedAction[],
  acknowledgedOperationId: string | undefined,
): FailedAction[] {
  return failures.filter(({ operationId }) => operationId !== acknowledgedOperationId);
}

/**
 * An operation that was counted before is a new failure only if status shows that it has failed once more since. One
 * that is not counted for its time alone is reported all the same.
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

/** Status has room for the most recent operations only: one older than the last of them may have been there before. */
function isPushedOut({ createdTime }: Operation, shown: readonly StatusOperation[]): boolean {
  const oldest = shown.at(-1);
  return oldest !== undefined && shown.length >= statusOperationsLimit && !isLater(createdTime, oldest.createdTime);
}
