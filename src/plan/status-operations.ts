import { durationMsOf } from "../domain/operation.ts";
import { type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";

const errorLimit = 256;

/**
 * The operations that status shows: in flight first, then the most recent, at most twenty. An availability check that
 * went well is no news and stays out, so that a resource at rest causes no writes.
 *
 * @param operations newest first.
 * @param previous what status shows now: an entry is rewritten only when the operation's status has changed.
 */
export function statusOperations(
  operations: readonly AttributedOperation[],
  previous: readonly StatusOperation[],
): StatusOperation[] {
  const shown = operations.filter(
    ({ operation, outcome }) => operation.action !== "check_availability" || outcome === "Failed",
  );
  const inFlight = shown.filter(({ outcome }) => outcome === "InFlight");
  const others = shown.filter(({ outcome }) => outcome !== "InFlight");
  return [...inFlight.sort(compareForReading), ...others.sort(compareForReading)]
    .slice(0, statusOperationsLimit)
    .map((each) => unchanged(each, previous) ?? statusOperation(each));
}

/**
 * What is running comes before what waits for it; of a request's operations, which share their time of creation, the one
 * that moved last comes first. The first entry is what `kubectl get -o wide` shows.
 */
function compareForReading({ operation: a }: AttributedOperation, { operation: b }: AttributedOperation): number {
  return (
    Number(a.status === "scheduling") - Number(b.status === "scheduling") ||
    Date.parse(b.createdTime) - Date.parse(a.createdTime) ||
    Date.parse(b.updatedTime) - Date.parse(a.updatedTime)
  );
}

function unchanged({ operation, cause }: AttributedOperation, previous: readonly StatusOperation[]) {
  return previous.find(
    (shown) =>
      shown.id === operation.id &&
      shown.status === operation.status &&
      shown.failuresCount === operation.failuresCount &&
      shown.cause === cause,
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
    ...(operation.error === undefined ? {} : { error: operation.error.slice(0, errorLimit) }),
  };
}
