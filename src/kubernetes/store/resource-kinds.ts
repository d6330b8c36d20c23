/** The kinds of resources for watch, cache and store: finalizer, index and parser of each kind. */
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { type ComputeEndpoint, indexesOfEndpoint, parseComputeEndpoint } from "../../resource/compute-endpoint.ts";
import {
  type PlaneResource,
  parseClusterControlPlane,
  parseControlPlane,
} from "../../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../../resource/control-plane-schema.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../../resource/database-access-schema.ts";
import { type DatabaseBranch, indexesOfBranch, parseDatabaseBranch } from "../../resource/database-branch.ts";
import type { DatabaseBranchStatus } from "../../resource/database-branch-schema.ts";
import {
  clusterControlPlaneNames,
  controlPlaneNames,
  databaseAccessNames,
  databaseBranchNames,
  finalizer,
  kind,
  plural,
} from "../../resource/names.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";

export const computeEndpointKind: ResourceKind<ComputeEndpoint, ComputeEndpointStatus> = {
  kind,
  many: `${kind}s`,
  plural,
  finalizer,
  parse: parseComputeEndpoint,
  indexesOf: indexesOfEndpoint,
};

// There are few control planes, so the cache needs no index for them.
const planeKind = { indexesOf: () => [] };

export const controlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...{ ...planeKind, ...controlPlaneNames, many: "ControlPlanes", parse: parseControlPlane },
};

export const clusterControlPlaneKind: ResourceKind<PlaneResource, ControlPlaneStatus> = {
  ...{ ...planeKind, ...clusterControlPlaneNames, many: "ClusterControlPlanes", parse: parseClusterControlPlane },
};

export function databaseAccessKind(
  indexesOf: (resource: DatabaseAccess) => readonly string[],
): ResourceKind<DatabaseAccess, DatabaseAccessStatus> {
  return { ...databaseAccessNames, many: "DatabaseAccesses", parse: parseDatabaseAccess, indexesOf };
}

export const databaseBranchKind: ResourceKind<DatabaseBranch, DatabaseBranchStatus> = {
  ...{ ...databaseBranchNames, many: "DatabaseBranches", parse: parseDatabaseBranch, indexesOf: indexesOfBranch },
};

/** A value of JSON. A member with the value `undefined` counts as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export interface StoredResource<Status> extends StoredIdentity {
  readonly finalizers: readonly string[];
  readonly status: Status;
}

export interface ResourceKind<Resource extends StoredResource<Status>, Status extends object> {
  readonly kind: string;
  /** The plural for messages: `ComputeEndpoints`. */
  readonly many: string;
  /** The plural in paths of the API: `computeendpoints`. */
  readonly plural: string;
  readonly finalizer: string;
  /** @param expected its members may be used where the stored object is equal. @throws ZodError on bad metadata */
  parse(stored: unknown, expected?: Resource): Resource;
  /** Returns each project, or other text, under which the cache finds the resource. */
  indexesOf(resource: Resource): readonly string[];
}
