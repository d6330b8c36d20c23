/** The kinds of resources for watch, cache and store: finalizer, index and parser of each kind. */

import type { Logger } from "../../domain/logger.ts";
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { createTextPool, type TextPool } from "../../domain/text-pool.ts";
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

/** How watch, cache and store treat the kind ComputeEndpoint. */
export const computeEndpointKind: ResourceKind<ComputeEndpoint, ComputeEndpointStatus> = {
  kind,
  many: `${kind}s`,
  plural,
  finalizer,
  parse: parseComputeEndpoint,
  withSharedTexts,
  indexesOf: indexesOfEndpoint,
  // An ownership record or intent that cannot be parsed may still show which endpoint the resource owns. Writes leave
  // such records as they are until a person acts.
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

/** Each field is written out, because an object made by spreading takes one and a half times the memory. */
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

/**
 * The members that are equal for ControlPlane and ClusterControlPlane. There are few such resources, so their texts are
 * not shared, and the cache needs no index for them.
 */
const both: Pick<
  ResourceKind<PlaneResource, ControlPlaneStatus>,
  "withSharedTexts" | "indexesOf" | "unreadableMembers"
> = {
  withSharedTexts: (status) => status,
  indexesOf: () => [],
  unreadableMembers: () => [],
};

/** How watch, cache and store treat the kind ControlPlane. */
export const controlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...controlPlaneNames,
  ...both,
  many: "ControlPlanes",
  parse: parseControlPlane,
};

/** How watch, cache and store treat the kind ClusterControlPlane. */
export const clusterControlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...clusterControlPlaneNames,
  ...both,
  many: "ClusterControlPlanes",
  parse: parseClusterControlPlane,
};

/**
 * Returns how watch, cache and store treat the kind DatabaseAccess.
 * @param indexesOf returns the keys under which the cache finds a resource
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
    indexesOf,
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

/** The maximum number of shared texts. Most texts repeat, but there may be many messages that name objects. */
const sharedTexts = 1_000;

/**
 * Parses stored objects of one kind. For each parsed resource in memory, it remembers whether its status holds the
 * whole stored status. A later patch of the status depends on that.
 */
export class KindParser<Resource extends StoredResource<Status>, Status extends object> {
  readonly #kind: ResourceKind<Resource, Status>;
  readonly #logger: Pick<Logger, "error">;
  readonly #whole = new WeakSet<Resource>();
  readonly #texts = createTextPool(sharedTexts);

  constructor(kind: ResourceKind<Resource, Status>, logger: Pick<Logger, "error">) {
    this.#kind = kind;
    this.#logger = logger;
  }

  /**
   * Parses a stored object.
   * @param expected the expected result. If the stored spec or status is equal to it, that member of `expected` is used,
   *   and not parsed again.
   * @throws ZodError when the object is of another kind, or its metadata is not that of a stored object
   */
  parse(stored: unknown, expected?: Resource): Resource {
    const parsed = this.#kind.parse(stored, expected);
    const resource = { ...parsed, status: this.#kind.withSharedTexts(parsed.status, this.#texts) };
    // A status that is taken from `expected` was found equal to the stored one.
    if (parsed.status === expected?.status || isSameStored(storedStatus(stored), resource.status)) {
      this.#whole.add(resource);
    }
    return resource;
  }

  /** Like `parse`, but it logs an object that cannot be parsed, and returns `undefined`. */
  parseOrSkip(stored: unknown): Resource | undefined {
    try {
      return this.parse(stored);
    } catch (error) {
      this.#logger.error({ err: error }, "a stored object cannot be parsed, so the operator ignores it");
      return undefined;
    }
  }

  /**
   * Whether `resource.status` holds the whole stored status. It is false if the stored status did not fit the schema
   * or has unknown fields. It is also false for an object that this parser did not make.
   */
  hasWholeStatus(resource: Resource): boolean {
    return this.#whole.has(resource);
  }
}

/** A value of JSON. A member with the value `undefined` counts as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** Returns the status of a stored object, unparsed; empty if there is none. */
export function storedStatus(stored: unknown): Json {
  return (stored as { readonly status?: Json } | null)?.status ?? {};
}

/** The members of every kind of resource that watch, cache and store use. */
export interface StoredResource<Status> extends StoredIdentity {
  readonly finalizers: readonly string[];
  readonly status: Status;
}

/**
 * One kind of custom resource for watch, cache and store: its names, its finalizer, and the functions that differ
 * between kinds.
 */
export interface ResourceKind<Resource extends StoredResource<Status>, Status extends object> {
  /** The name of the kind, for instance `ComputeEndpoint`. */
  readonly kind: string;
  /** The plural for messages: `ComputeEndpoints`. */
  readonly many: string;
  /** The plural in paths of the API: `computeendpoints`. */
  readonly plural: string;
  readonly finalizer: string;
  /**
   * Parses a stored object.
   * @param expected the expected result. Its members may be used where the stored object is equal to it.
   * @throws ZodError when the metadata is not that of a stored object
   */
  parse(stored: unknown, expected?: Resource): Resource;
  /** Returns the same status, with each repeated text only once in memory. */
  withSharedTexts(status: Status, pool: TextPool): Status;
  /** Returns each project, or other text, under which the cache finds the resource. */
  indexesOf(resource: Resource): readonly string[];
  /** Returns the members of the stored status that the operator cannot parse. Every write leaves them as they are. */
  unreadableMembers(resource: Resource): readonly string[];
}
