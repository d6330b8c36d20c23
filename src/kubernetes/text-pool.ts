import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/** Holds texts that many resources have in common, once. */
export interface TextPool {
  /** An equal text: the one that is held already, if there is one. */
  share<Text extends string>(text: Text): Text;
  /** How many are held. */
  readonly size: number;
}

/** @param limit so many are held at most; what comes after them is given back as it is. */
export function createTextPool(limit: number): TextPool {
  const held = new Map<string, string>();
  return {
    share<Text extends string>(text: Text): Text {
      const known = held.get(text);
      if (known === undefined && held.size < limit) {
        held.set(text, text);
      }
      return (known ?? text) as Text;
    },
    get size() {
      return held.size;
    },
  };
}

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
