import { durationMsOf, isInFlight, type Operation, type OperationCause } from "../domain/operation.ts";
import { type StatusOperation, statusOperationsLimit } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";

const errorLimit = 256;

/** What status shows already. */
export interface ShownBefore {
  /** An entry is rewritten only when the operation's status has changed. */
  readonly entries: readonly StatusOperation[];
  /** Everything that this reading of the log holds, whoever it concerns. */
  readonly readIds: ReadonlySet<string>;
}

/**
 * The operations that status shows: in flight first, then the most recent, at most twenty. An availability check that
 * went well is no news and stays out, so that a resource at rest causes no writes. What has ended and lies further back
 * than this reading goes stays as it is shown: after a restart little of the log is read.
 *
 * @param operations newest first.
 */
export function statusOperations(
  operations: readonly AttributedOperation[],
  { entries: previous, readIds }: ShownBefore,
): StatusOperation[] {
  const shown = operations.filter(
    ({ operation, outcome }) => operation.action !== "check_availability" || outcome === "Failed",
  );
  const newestOf = (isWanted: (each: AttributedOperation) => boolean) =>
    shown
      .filter(isWanted)
      .sort((a, b) => compareForReading(a.operation, b.operation))
      .slice(0, statusOperationsLimit)
      .map((each) => unchanged(each, previous) ?? statusOperation(each));
  const remembered = previous.filter((entry) => !readIds.has(entry.id) && !isInFlight(entry));
  const others = [...newestOf(({ outcome }) => outcome !== "InFlight"), ...remembered].sort(compareForReading);
  return [...newestOf(({ outcome }) => outcome === "InFlight"), ...others].slice(0, statusOperationsLimit);
}

type Timed = Pick<StatusOperation, "status" | "createdTime" | "updatedTime">;

/**
 * What is running comes before what waits for it; of a request's operations, which share their time of creation, the one
 * that moved last comes first. The first entry is what `kubectl get -o wide` shows.
 */
function compareForReading(a: Timed, b: Timed): number {
  return (
    Number(a.status === "scheduling") - Number(b.status === "scheduling") ||
    Date.parse(b.createdTime) - Date.parse(a.createdTime) ||
    Date.parse(b.updatedTime) - Date.parse(a.updatedTime)
  );
}

/** How much has to be known to say so: an answer to our own call, a sibling in the log, nothing. */
const proofs: Readonly<Record<OperationCause, number>> = { SpecChange: 2, Other: 1, ControlPlane: 0 };

/** What proved a cause may be out of the memory by now, so a lesser one is no news. */
function unchanged({ operation, cause }: AttributedOperation, previous: readonly StatusOperation[]) {
  return previous.find(
    (shown) =>
      shown.id === operation.id &&
      shown.status === operation.status &&
      shown.failuresCount === operation.failuresCount &&
      proofs[shown.cause] >= proofs[cause],
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

/** The service's words on a failure, as status shows them; nothing where it has said none. */
export function shortError({ error }: Pick<Operation, "error">): { readonly error?: string } {
  return error === undefined ? {} : { error: error.slice(0, errorLimit) };
}
