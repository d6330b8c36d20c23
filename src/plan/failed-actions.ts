import { isLater, type Operation, outcomeOf } from "../domain/operation.ts";
import { type ComputeEndpointStatus, type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";
import { shortError } from "./status-operations.ts";

/** A failure that nothing has cleared yet. */
export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

const failedActionsLimit = 20;

/** What decides whether a failure in the log is news. */
export interface FailureContext {
  /** The operation that the annotation says has been seen. */
  readonly acknowledgedOperationId: string | undefined;
  /** RFC 3339: what was created up to it is somebody else's history, unless its end is counted now. */
  readonly sinceTime: string;
  /** What is counted in this pass. */
  readonly endedIds: ReadonlySet<string>;
  /** Operations as status shows them now. */
  readonly shown: readonly StatusOperation[];
}

/**
 * What LastOperationSucceeded remembers. A failure goes only with a later success of the same action, a success of the
 * same operation (the service may retry it), the endpoint's replacement, or a person's acknowledgement: a clean read
 * does not clear it. What is gone does not come back because the log still holds it.
 *
 * @param operations newest first.
 */
export function failedActionsAfter(
  previous: readonly FailedAction[],
  operations: readonly AttributedOperation[],
  context: FailureContext,
): FailedAction[] {
  const remembered = new Map(previous.map((failure) => [failure.action, failure]));
  for (const each of [...operations].reverse()) {
    const { operation, outcome } = each;
    const { action, id } = operation;
    const isNews = isNewFailure(each, context);
    if (isNews && id !== context.acknowledgedOperationId) {
      remember(remembered, { action, operationId: id, time: operation.updatedTime, ...shortError(operation) });
    } else if (outcome === "Succeeded" && isClearedBy(remembered.get(action), operation)) {
      remembered.delete(action);
    }
  }
  return [...remembered.values()]
    .filter(({ operationId }) => operationId !== context.acknowledgedOperationId)
    .sort((a, b) => (a.action < b.action ? -1 : 1))
    .slice(0, failedActionsLimit);
}

/** Whether status has not told of it yet, or it has failed once more since. */
function isNewFailure({ operation, outcome }: AttributedOperation, context: FailureContext): boolean {
  const { sinceTime, shown, endedIds } = context;
  if (outcome !== "Failed" || endedIds.has(operation.id)) {
    return outcome === "Failed";
  }
  // Told of although it is not counted: a list may show it late, or the service may have tried it once more in vain.
  const before = shown.find(({ id }) => id === operation.id);
  return before === undefined
    ? isLater(operation.createdTime, sinceTime) && !isPushedOut(operation, shown)
    : outcomeOf(before) !== "Failed" || before.failuresCount !== operation.failuresCount;
}

/** Status has room for the most recent ones only: what is older than the last of them has been there before. */
function isPushedOut({ createdTime }: Operation, shown: readonly StatusOperation[]): boolean {
  const oldest = shown.at(-1);
  return (
    oldest !== undefined &&
    shown.length >= statusOperationsLimit &&
    Date.parse(createdTime) <= Date.parse(oldest.createdTime)
  );
}

/** An older failure met again in the log does not push out a newer one. */
function remember(remembered: Map<string, FailedAction>, failure: FailedAction): void {
  const known = remembered.get(failure.action);
  if (known === undefined || Date.parse(failure.time) >= Date.parse(known.time)) {
    remembered.set(failure.action, failure);
  }
}

function isClearedBy(failure: FailedAction | undefined, success: AttributedOperation["operation"]): boolean {
  return failure !== undefined && (failure.operationId === success.id || isLater(success.updatedTime, failure.time));
}
