import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";

/** A failure that nothing has cleared yet. */
export type FailedAction = NonNullable<ComputeEndpointStatus["failedActions"]>[number];

const failedActionsLimit = 20;

/**
 * What LastOperationSucceeded remembers. A failure goes only with a later success of the same action, a success of the
 * same operation (the service may retry it), the endpoint's replacement, or a person's acknowledgement: a clean read
 * does not clear it.
 *
 * @param operations newest first.
 * @param sinceTime RFC 3339: failures that ended before it are somebody else's history.
 */
export function failedActionsAfter(
  previous: readonly FailedAction[],
  operations: readonly AttributedOperation[],
  context: { readonly acknowledgedOperationId: string | undefined; readonly sinceTime: string },
): FailedAction[] {
  const remembered = new Map(previous.map((failure) => [failure.action, failure]));
  for (const { operation, outcome } of [...operations].reverse()) {
    const { action, id } = operation;
    const isHistory = Date.parse(operation.updatedTime) < Date.parse(context.sinceTime);
    if (outcome === "Failed" && !isHistory && id !== context.acknowledgedOperationId) {
      remember(remembered, { action, operationId: id, time: operation.updatedTime });
    } else if (outcome === "Succeeded" && isClearedBy(remembered.get(action), operation)) {
      remembered.delete(action);
    }
  }
  return [...remembered.values()]
    .filter(({ operationId }) => operationId !== context.acknowledgedOperationId)
    .sort((a, b) => (a.action < b.action ? -1 : 1))
    .slice(0, failedActionsLimit);
}

/** An older failure met again in the log does not push out a newer one. */
function remember(remembered: Map<string, FailedAction>, failure: FailedAction): void {
  const known = remembered.get(failure.action);
  if (known === undefined || Date.parse(failure.time) >= Date.parse(known.time)) {
    remembered.set(failure.action, failure);
  }
}

function isClearedBy(failure: FailedAction | undefined, success: AttributedOperation["operation"]): boolean {
  return (
    failure !== undefined &&
    (failure.operationId === success.id || Date.parse(success.updatedTime) > Date.parse(failure.time))
  );
}
