/** Decides which operations belong to a resource, and what caused them. */
import type { ObservedEndpoint } from "../domain/endpoint.ts";
import {
  compareNewestFirst,
  isLater,
  type Operation,
  type OperationCause,
  type OperationOutcome,
  outcomeOf,
} from "../domain/operation.ts";
import type { LogBranch } from "../resource/status-schema.ts";
import type { OperationsSnapshot } from "./known-operations.ts";

/** An operation of one resource, with its cause and its state. */
export interface AttributedOperation {
  readonly operation: Operation;
  readonly cause: OperationCause;
  readonly outcome: OperationOutcome;
}

/** What identifies the operations of one endpoint and of the operator's own calls. */
export interface Attribution {
  readonly endpointId: string;
  /** Ids of operations that answers to the operator's own calls named. */
  readonly ownIds: ReadonlySet<string>;
  /**
   * When the endpoint that the operator created was created, RFC 3339; `undefined`: it was adopted, or this reconcile
   * did not see it.
   */
  readonly createdTime: string | undefined;
  /** The branch whose operations count although they name no endpoint; `undefined`: none. */
  readonly branch: LogBranch | undefined;
}

/** Actions that the control plane may start by itself. A configuration change is not one of them. */
const controlPlaneActions: readonly string[] = ["check_availability", "suspend_compute", "start_compute"];

/**
 * A start within this many milliseconds before or after the creation of its endpoint belongs to the create. The times
 * may differ, because clocks of the control plane's machines differ.
 */
export const createdTogetherMs = 2_000;

/** Selects the operations of one endpoint and of its branch, newest first, and adds to each what caused it. */
export function attribute(snapshot: OperationsSnapshot, attribution: Attribution): readonly AttributedOperation[] {
  const { endpointId, ownIds, branch } = attribution;
  const withoutEndpoint = (snapshot.byEndpoint.get("") ?? []).filter(
    ({ id, branchId, createdTime }) =>
      ownIds.has(id) || (branch !== undefined && branchId === branch.id && isLater(createdTime, branch.sinceTime)),
  );
  const own = [...(snapshot.byEndpoint.get(endpointId) ?? []), ...withoutEndpoint].sort(compareNewestFirst);
  const firstStart = own.findLast(({ action }) => action === "start_compute");
  return explain(own, snapshot, ownIds).map((each) =>
    each.operation === firstStart && isStartOfOurCreate(firstStart, attribution)
      ? { ...each, cause: "SpecChange" }
      : each,
  );
}

/** Adds state and cause to each operation. */
export function explain(
  chosen: readonly Operation[],
  snapshot: OperationsSnapshot,
  ownIds: ReadonlySet<string>,
): readonly AttributedOperation[] {
  return chosen.map((operation) => ({
    operation,
    outcome: outcomeOf(operation),
    cause: causeOf(operation, snapshot, ownIds),
  }));
}

/**
 * Returns the branch whose operations count for the resource although they name no endpoint: the branch of its
 * endpoint.
 */
export function attributedBranch(
  branch: LogBranch | undefined,
  seen: ObservedEndpoint | undefined,
): LogBranch | undefined {
  return seen !== undefined && branch?.id === seen.branchId ? branch : undefined;
}

function causeOf(operation: Operation, snapshot: OperationsSnapshot, ownIds: ReadonlySet<string>): OperationCause {
  if (ownIds.has(operation.id)) {
    return "SpecChange";
  }
  const isByControlPlane =
    controlPlaneActions.includes(operation.action) && !isPartOfForeignChange(operation, snapshot, ownIds);
  return isByControlPlane ? "ControlPlane" : "Other";
}

/**
 * Whether a request of another client started the operation. Operations of one request have the same endpoint and
 * creation time, and one of them is a configuration change. The operator's own changes are not checked here, because
 * their answers name all operations of the request.
 */
function isPartOfForeignChange(
  { endpointId, createdTime }: Operation,
  { byEndpoint }: OperationsSnapshot,
  ownIds: ReadonlySet<string>,
): boolean {
  return (
    endpointId !== undefined &&
    (byEndpoint.get(endpointId) ?? []).some(
      (other) => other.action === "apply_config" && other.createdTime === createdTime && !ownIds.has(other.id),
    )
  );
}

/**
 * Whether the operation is the first start of an endpoint that the operator created. If the answer to the create was
 * lost, the operator does not know the id of this start.
 */
function isStartOfOurCreate({ createdTime }: Operation, attribution: Attribution): boolean {
  return (
    attribution.createdTime !== undefined &&
    Math.abs(Date.parse(createdTime) - Date.parse(attribution.createdTime)) <= createdTogetherMs
  );
}
