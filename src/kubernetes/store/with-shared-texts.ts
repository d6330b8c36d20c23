import type { TextPool } from "../../domain/text-pool.ts";
import type { ComputeEndpointStatus, StatusOperation } from "../../resource/status-schema.ts";

/**
 * The same status, its repeated texts held once. A status that is full says the same few words dozens of times, each
 * read from JSON as a text of its own, and a cache of thousands would hold them all.
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

/** Written out: of twenty for each resource, copies by spreading would take half as much again. */
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
