import {
  compareNewestFirst,
  type Operation,
  type OperationCause,
  type OperationOutcome,
  outcomeOf,
} from "../domain/operation.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
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
const createdTogetherMs = 2_000;

/** The operations of the project that concern this resource's endpoint, newest first. */
export function operationsOf(observation: Observation): readonly AttributedOperation[] {
  const { resource, project } = observation;
  const ownership = resource.status.ownership;
  if (ownership === undefined) {
    return [];
  }
  const ownIds = ownOperationIds(observation);
  return attribute(project.operations, {
    resource,
    endpointId: ownership.endpointId,
    ownIds,
    createdTime: createdTimeOf(observation),
  });
}

interface Attribution {
  readonly resource: ComputeEndpoint;
  readonly endpointId: string;
  readonly ownIds: ReadonlySet<string>;
  /** When the endpoint we made came to be; `undefined` for an adopted one. */
  readonly createdTime: string | undefined;
}

/** Chooses and explains the operations that belong to one endpoint. */
export function attribute(operations: readonly Operation[], attribution: Attribution): readonly AttributedOperation[] {
  const configuredAt = new Set(
    operations.filter(({ action }) => action === "apply_config").map(({ createdTime }) => createdTime),
  );
  const own = operations.filter((operation) => concerns(operation, attribution)).sort(compareNewestFirst);
  const firstStart = own.findLast(({ action }) => action === "start_compute");
  return own.map((operation) => ({
    operation,
    outcome: outcomeOf(operation),
    cause:
      operation === firstStart && isStartOfOurCreate(operation, attribution)
        ? "SpecChange"
        : causeOf(operation, attribution, configuredAt),
  }));
}

/** Ids of operations that our own calls started: from status, and what status does not hold yet. */
export function ownOperationIds({ resource, memory }: Pick<Observation, "resource" | "memory">): ReadonlySet<string> {
  const stored = (resource.status.operations ?? []).filter(({ cause }) => cause === "SpecChange").map(({ id }) => id);
  return new Set([...stored, ...memory.ownOperationIds]);
}

/** By endpoint; by branch when it names none and this is the branch's read-write endpoint. */
function concerns(operation: Operation, { resource, endpointId, ownIds }: Attribution): boolean {
  if (operation.endpointId !== undefined) {
    return operation.endpointId === endpointId;
  }
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const isOfOurBranch = spec?.type === "ReadWrite" && operation.branchId === spec.branchId;
  return ownIds.has(operation.id) || isOfOurBranch;
}

function causeOf(operation: Operation, attribution: Attribution, configuredAt: ReadonlySet<string>): OperationCause {
  if (attribution.ownIds.has(operation.id)) {
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

function createdTimeOf({ resource, remote }: Observation): string | undefined {
  const isOurs = resource.status.ownership?.origin !== "Adopted";
  return isOurs && remote.kind === "Present" ? remote.endpoint.createdTime : undefined;
}
