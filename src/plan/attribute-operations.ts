import type { ObservedEndpoint } from "../domain/endpoint.ts";
import {
  compareNewestFirst,
  isLater,
  type Operation,
  type OperationCause,
  type OperationOutcome,
  outcomeOf,
} from "../domain/operation.ts";
import type { LogBranch, OperationWatermark } from "../resource/status-schema.ts";
import type { Observation } from "./observation.ts";

/** An operation of this resource, who started it, and how it stands. */
export interface AttributedOperation {
  readonly operation: Operation;
  readonly cause: OperationCause;
  readonly outcome: OperationOutcome;
}

/** What the service does by itself. A configuration change never is. */
const serviceActions: readonly string[] = ["check_availability", "suspend_compute", "start_compute"];

/** The start of an endpoint we made begins with it; the two times differ by less than this. */
export const createdTogetherMs = 2_000;

/** The operations of the project that concern this resource's endpoint, newest first. */
export function operationsOf(observation: Observation): readonly AttributedOperation[] {
  const { resource, project } = observation;
  const ownership = resource.status.ownership;
  if (ownership === undefined) {
    return [];
  }
  const ownIds = ownOperationIds(observation);
  return attribute(project.operations, {
    endpointId: ownership.endpointId,
    ownIds,
    createdTime: createdTimeOf(observation),
    branch: logBranch(resource.status.operationWatermark, presentEndpoint(observation)),
  });
}

/** By what an endpoint's operations are known. */
export interface Attribution {
  readonly endpointId: string;
  readonly ownIds: ReadonlySet<string>;
  /** When the endpoint we made came to be; `undefined` for an adopted one. */
  readonly createdTime: string | undefined;
  /** The branch whose operations count although they name no endpoint; `undefined`: none. */
  readonly branch: LogBranch | undefined;
}

/** Chooses and explains the operations that belong to one endpoint, newest first. */
export function attribute(operations: readonly Operation[], attribution: Attribution): readonly AttributedOperation[] {
  const own = operations.filter((operation) => concerns(operation, attribution)).sort(compareNewestFirst);
  const firstStart = own.findLast(({ action }) => action === "start_compute");
  return explain(own, attribution, operations).map((each) =>
    each.operation === firstStart && isStartOfOurCreate(firstStart, attribution)
      ? { ...each, cause: "SpecChange" }
      : each,
  );
}

/**
 * Says of each operation how it stands and who started it.
 *
 * @param beside what else the log holds: an operation is part of the request that began at the same moment.
 */
export function explain(
  chosen: readonly Operation[],
  { ownIds }: Pick<Attribution, "ownIds">,
  beside: readonly Operation[] = chosen,
): readonly AttributedOperation[] {
  const configuredAt = new Set(
    beside.filter(({ action }) => action === "apply_config").map(({ createdTime }) => createdTime),
  );
  return chosen.map((operation) => ({
    operation,
    outcome: outcomeOf(operation),
    cause: causeOf(operation, ownIds, configuredAt),
  }));
}

/** The branch whose operations without an endpoint belong to the resource: the one its endpoint is seen on. */
export function logBranch(
  watermark: OperationWatermark | undefined,
  seen: ObservedEndpoint | undefined,
): LogBranch | undefined {
  return seen !== undefined && watermark?.branch?.id === seen.branchId ? watermark.branch : undefined;
}

/** Ids of operations that our own calls started: from status, and what status does not hold yet. */
export function ownOperationIds({ resource, memory }: Pick<Observation, "resource" | "memory">): ReadonlySet<string> {
  const stored = (resource.status.operations ?? []).filter(({ cause }) => cause === "SpecChange").map(({ id }) => id);
  return new Set([...stored, ...memory.ownOperationIds]);
}

/** By endpoint; by branch when it names none, the branch's read-write endpoint is ours, and it was so when it began. */
function concerns(operation: Operation, { endpointId, ownIds, branch }: Attribution): boolean {
  if (operation.endpointId !== undefined) {
    return operation.endpointId === endpointId;
  }
  const isOfOurBranch =
    branch !== undefined && operation.branchId === branch.id && isLater(operation.createdTime, branch.sinceTime);
  return ownIds.has(operation.id) || isOfOurBranch;
}

function causeOf(operation: Operation, ownIds: ReadonlySet<string>, configuredAt: ReadonlySet<string>): OperationCause {
  if (ownIds.has(operation.id)) {
    return "SpecChange";
  }
  // A start or suspend beside an apply_config of the same request is part of somebody's change.
  const isByService = serviceActions.includes(operation.action) && !configuredAt.has(operation.createdTime);
  return isByService ? "ControlPlane" : "Other";
}

/** After a create whose answer was lost nobody told us the id of its operation. */
function isStartOfOurCreate(operation: Operation, { createdTime }: Attribution): boolean {
  return (
    createdTime !== undefined &&
    Math.abs(Date.parse(operation.createdTime) - Date.parse(createdTime)) <= createdTogetherMs
  );
}

function createdTimeOf(observation: Observation): string | undefined {
  const isOurs = observation.resource.status.ownership?.origin !== "Adopted";
  return isOurs ? presentEndpoint(observation)?.createdTime : undefined;
}

function presentEndpoint({ remote }: Observation): ObservedEndpoint | undefined {
  return remote.kind === "Present" ? remote.endpoint : undefined;
}
