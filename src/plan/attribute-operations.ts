import type { ObservedEndpoint } from "../domain/endpoint.ts";
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
    endpointId: ownership.endpointId,
    ownIds,
    createdTime: createdTimeOf(observation),
    readWriteBranchId: readWriteBranchOf(resource, presentEndpoint(observation)),
  });
}

interface Attribution {
  readonly endpointId: string;
  readonly ownIds: ReadonlySet<string>;
  /** When the endpoint we made came to be; `undefined` for an adopted one. */
  readonly createdTime: string | undefined;
  /** The branch whose read-write endpoint it is; `undefined` for a replica. */
  readonly readWriteBranchId: string | undefined;
}

/**
 * The branch of which an endpoint is the read-write one. Where it is counts, not where spec wants it: the branch it is
 * to move to may have another. Only of an endpoint that cannot be seen spec is believed.
 */
export function readWriteBranchOf(resource: ComputeEndpoint, seen: ObservedEndpoint | undefined): string | undefined {
  const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
  const { type, branchId } = seen ?? spec ?? {};
  return type === "ReadWrite" ? branchId : undefined;
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
function concerns(operation: Operation, { endpointId, ownIds, readWriteBranchId }: Attribution): boolean {
  if (operation.endpointId !== undefined) {
    return operation.endpointId === endpointId;
  }
  const isOfOurBranch = readWriteBranchId !== undefined && operation.branchId === readWriteBranchId;
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

function createdTimeOf(observation: Observation): string | undefined {
  const isOurs = observation.resource.status.ownership?.origin !== "Adopted";
  return isOurs ? presentEndpoint(observation)?.createdTime : undefined;
}

function presentEndpoint({ remote }: Observation): ObservedEndpoint | undefined {
  return remote.kind === "Present" ? remote.endpoint : undefined;
}
