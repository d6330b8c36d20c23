import type { TextPool } from "../domain/text-pool.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

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
      operations: operations.map((operation) => ({
        ...operation,
        action: share(operation.action),
        cause: share(operation.cause),
      })),
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
