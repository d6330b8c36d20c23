/** How watch, cache and store treat each kind of resource. */
import type { TextPool } from "../../domain/text-pool.ts";
import { type ComputeEndpoint, indexesOfEndpoint, parseComputeEndpoint } from "../../resource/compute-endpoint.ts";
import {
  type PlaneResource,
  parseClusterControlPlane,
  parseControlPlane,
} from "../../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../../resource/control-plane-schema.ts";
import { type DatabaseAccess, parseDatabaseAccess, trustedMembers } from "../../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  finalizer,
  kind,
  plural,
} from "../../resource/names.ts";
import type { ComputeEndpointStatus, Condition, StatusOperation } from "../../resource/status-schema.ts";
import type { ResourceKind } from "./kind-parser.ts";

export const computeEndpointKind: ResourceKind<ComputeEndpoint, ComputeEndpointStatus> = {
  kind,
  many: `${kind}s`,
  plural,
  finalizer,
  parse: parseComputeEndpoint,
  withSharedTexts,
  projectsOf: indexesOfEndpoint,
  // Records that cannot be read are evidence: they stay as they are until a person acts.
  unreadableMembers: ({ isOwnershipReadable }) => (isOwnershipReadable ? [] : ["ownership", "createIntent"]),
};

/**
 * Returns the same status, with each repeated text only once in memory. Each text parsed from JSON takes its own
 * memory, and a full status contains the same few words dozens of times.
 */
export function withSharedTexts(status: ComputeEndpointStatus, { share }: TextPool): ComputeEndpointStatus {
  const { ownership, operations, conditions } = status;
  return {
    ...status,
    ...(ownership && {
      ownership: {
        ...ownership,
        clusterId: share(ownership.clusterId),
        serviceUrl: share(ownership.serviceUrl),
      },
    }),
    ...(operations && {
      operations: operations.map((operation) => compact(operation, share)),
    }),
    ...(conditions && {
      conditions: sharedConditions(conditions, share),
    }),
  };
}

/**
 * Copies an operation with shared texts. Each field is written out, because an object made by spreading takes half as
 * much memory again.
 */
function compact(operation: StatusOperation, share: TextPool["share"]): StatusOperation {
  const shown = {
    id: operation.id,
    action: share(operation.action),
    status: operation.status,
    failuresCount: operation.failuresCount,
    cause: share(operation.cause),
    createdTime: operation.createdTime,
    updatedTime: operation.updatedTime,
    durationMilliseconds: operation.durationMilliseconds,
  } satisfies Record<keyof Omit<StatusOperation, "error">, unknown>;
  return operation.error === undefined ? shown : { ...shown, error: operation.error };
}

/** The parts that both kinds have in common. There are few control planes, so nothing is shared or indexed. */
const both: Pick<
  ResourceKind<PlaneResource, ControlPlaneStatus>,
  "withSharedTexts" | "projectsOf" | "unreadableMembers"
> = {
  withSharedTexts: (status) => status,
  projectsOf: () => [],
  unreadableMembers: () => [],
};

export const controlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...controlPlaneNames,
  ...both,
  many: "ControlPlanes",
  parse: parseControlPlane,
};

export const clusterControlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...clusterControlPlaneNames,
  ...both,
  many: "ClusterControlPlanes",
  parse: parseClusterControlPlane,
};

/**
 * Returns how watch, cache and store treat the kind DatabaseAccess. @param indexesOf returns the keys under which the
 * cache finds a resource
 */
export function databaseAccessKind(
  indexesOf: (resource: DatabaseAccess) => readonly string[],
): ResourceKind<DatabaseAccess, DatabaseAccessStatus> {
  return {
    ...databaseAccessNames,
    many: "DatabaseAccesses",
    parse: parseDatabaseAccess,
    withSharedTexts: (status, { share }) => ({
      ...status,
      ...(status.conditions && {
        conditions: sharedConditions(status.conditions, share),
      }),
    }),
    projectsOf: indexesOf,
    // Records that this version cannot parse may come from another version, so writes leave them as they are.
    unreadableMembers: ({ isStatusReadable }) => (isStatusReadable ? [] : trustedMembers),
  };
}

function sharedConditions(conditions: readonly Condition[], share: TextPool["share"]): Condition[] {
  return conditions.map((condition) => ({
    ...condition,
    type: share(condition.type),
    reason: share(condition.reason),
    message: share(condition.message),
  }));
}
