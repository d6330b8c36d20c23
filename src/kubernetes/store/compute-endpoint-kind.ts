import type { TextPool } from "../../domain/text-pool.ts";
import { type ComputeEndpoint, indexesOfEndpoint, parseComputeEndpoint } from "../../resource/compute-endpoint.ts";
import { finalizer, kind, plural } from "../../resource/names.ts";
import type { ComputeEndpointStatus, StatusOperation } from "../../resource/status-schema.ts";
import type { ResourceKind } from "./kind-parser.ts";

/** How watch, cache and store treat the kind ComputeEndpoint. */
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
      conditions: conditions.map((condition) => ({
        ...condition,
        type: share(condition.type),
        reason: share(condition.reason),
        message: share(condition.message),
      })),
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
