import type { ObservedDatabase, ObservedRole } from "../domain/branch-objects.ts";
import type { Password } from "../domain/password.ts";
import type { StoredSecret } from "../domain/secret-store.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import type { ConnectionHosts, ConnectionSettings } from "./binding.ts";

/** What the cache of resources says about the ComputeEndpoint that a DatabaseAccess names. */
export type EndpointReference =
  | { readonly kind: "NotFound" }
  /** It has no endpoint with a host name yet. */
  | { readonly kind: "Waiting" }
  | { readonly kind: "Named"; readonly projectId: string; readonly endpointId: string };

/** The endpoint and its branch, as the snapshot of the project showed them. */
export interface BoundEndpoint {
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string;
  readonly hosts: ConnectionHosts;
}

/** The Secret that the resource writes, as the API server has it. */
export type SecretFacts =
  | { readonly kind: "Absent" }
  | { readonly kind: "Own"; readonly secret: StoredSecret }
  /** It has no owner reference to this resource. */
  | { readonly kind: "Foreign" }
  /** The operator may not read or write Secrets in this namespace. */
  | { readonly kind: "Forbidden" };

/** What is known of the password. */
export type PasswordFacts =
  /** `roleUpdatedTime` is `undefined` for a password that a person gave. */
  | { readonly kind: "Known"; readonly password: Password; readonly roleUpdatedTime: string | undefined }
  /** The control plane does not reveal it. */
  | { readonly kind: "Unavailable" }
  /** `secretRef` names no Secret, or a key that the Secret does not have. */
  | { readonly kind: "Missing" }
  /** It was not asked for: the Secret holds it. */
  | { readonly kind: "NotRead" };

/** Everything that one decision about a DatabaseAccess needs. */
export interface AccessObservation {
  readonly resource: DatabaseAccess;
  readonly spec: DatabaseAccessSpec;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly endpoint: BoundEndpoint;
  readonly secret: SecretFacts;
  readonly roles: readonly ObservedRole[];
  readonly databases: readonly ObservedDatabase[];
  readonly password: PasswordFacts;
  /** Whether the control plane is still at work on roles and databases of the branch. */
  readonly isConfigInFlight: boolean;
  readonly settings: ConnectionSettings;
  /** The records of status, or none if they were not made for this resource in this cluster. */
  readonly objects: readonly AccessObject[];
}

/** Role or database of an observation, as the decisions name them. */
export type ObjectType = AccessObject["type"];

/** The record of a role or database on the branch of the endpoint. */
export function recordOf(
  objects: readonly AccessObject[],
  { branchId }: Pick<BoundEndpoint, "branchId">,
  type: ObjectType,
): AccessObject | undefined {
  return objects.find((object) => object.type === type && object.branchId === branchId);
}

/** Whether the Secret is as the operator wrote it last. */
export function isSecretUntouched({ secret, resource }: Pick<AccessObservation, "secret" | "resource">): boolean {
  return secret.kind === "Own" && secret.secret.resourceVersion === resource.status.secret?.resourceVersion;
}
