/** The kinds of resources for watch, cache and store: finalizer, index and parser of each kind. */
import type { StoredIdentity } from "../../domain/resource-store.ts";
import { indexesOfEndpoint, parseComputeEndpoint } from "../../resource/compute-endpoint.ts";
import { parseClusterControlPlane, parseControlPlane } from "../../resource/control-plane-resource.ts";
import { parseDatabaseAccess } from "../../resource/database-access.ts";
import { indexesOfBranch, parseDatabaseBranch } from "../../resource/database-branch.ts";
import * as names from "../../resource/names.ts";

const { computeEndpointNames, databaseAccessNames, databaseBranchNames } = names;

export const computeEndpointKind = {
  ...computeEndpointNames,
  parse: parseComputeEndpoint,
  indexesOf: indexesOfEndpoint,
};
export const databaseAccessKind = { ...databaseAccessNames, parse: parseDatabaseAccess };
export const databaseBranchKind = { ...databaseBranchNames, parse: parseDatabaseBranch, indexesOf: indexesOfBranch };
/** There are few control planes, so the cache needs no index for them. */
export const planeKinds = {
  ControlPlane: { ...names.controlPlaneNames, parse: parseControlPlane, indexesOf: () => [] },
  ClusterControlPlane: { ...names.clusterControlPlaneNames, parse: parseClusterControlPlane, indexesOf: () => [] },
};

/** A value of JSON. A member with the value `undefined` counts as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export interface StoredResource<Status> extends StoredIdentity {
  readonly finalizers: readonly string[];
  readonly status: Status;
}

export interface ResourceKind<Resource extends StoredResource<Status>, Status extends object> {
  readonly kind: string;
  /** The plural in paths of the API: `computeendpoints`. */
  readonly plural: string;
  readonly finalizer: string;
  /** @param expected its members may be used where the stored object is equal. @throws ZodError on bad metadata */
  parse(stored: unknown, expected?: Resource): Resource;
  /** Returns each project, or other text, under which the cache finds the resource. */
  indexesOf(resource: Resource): readonly string[];
}
