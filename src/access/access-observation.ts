/** What is known of a DatabaseAccess: what one decision is made from, and what this process remembers. */

import type { ChangeUrgency } from "../decide/choose-mutation.ts";
import type { FailureRow } from "../decide/observation.ts";
import type { ObservedDatabase, ObservedRole, Password } from "../domain/control-plane.ts";
import type { StoredSecret } from "../domain/resource-store.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import type { ConnectionHosts, ConnectionSettings } from "./binding.ts";

/** What the cache shows of the ComputeEndpoint that a DatabaseAccess names. */
export type EndpointReference =
  /** There is no such ComputeEndpoint, or it is being deleted. */
  | { readonly kind: "NotFound" }
  /** The ComputeEndpoint owns no endpoint yet. */
  | { readonly kind: "Waiting" }
  /**
   * The ComputeEndpoint's ownership record was made for another resource, cluster or control plane. So its endpoint is
   * not in this control plane.
   */
  | { readonly kind: "Unproven" }
  | { readonly kind: "Named"; readonly projectId: string; readonly endpointId: string };

/** The endpoint and its branch, as the project's snapshot shows them. */
export interface BoundEndpoint {
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string;
  readonly hosts: ConnectionHosts;
}

/** The state of the Secret that the resource writes, as the API server shows it. */
export type SecretFacts =
  | { readonly kind: "Absent" }
  | { readonly kind: "Own"; readonly secret: StoredSecret }
  /** The Secret exists but belongs to another object: it has no owner reference to this resource. */
  | { readonly kind: "Foreign" }
  /** The operator has no right to read Secrets in this namespace. `account` is its service account. */
  | { readonly kind: "Forbidden"; readonly account: string };

/** What the operator knows about the password. */
export type PasswordFacts =
  /** The password is known. `roleUpdatedTime` is `undefined` if a person gave the password in a Secret. */
  | { readonly kind: "Known"; readonly password: Password; readonly roleUpdatedTime: string | undefined }
  /** The control plane does not reveal the password. */
  | { readonly kind: "Unavailable" }
  /** The Secret that `secretRef` names does not exist, or it has no value for the key. */
  | { readonly kind: "Missing" }
  /** The password was not read: the Secret holds it already or cannot be written, or there is no such role. */
  | { readonly kind: "NotRead" };

/** Everything that one decision about a DatabaseAccess needs. */
export interface AccessObservation {
  readonly resource: DatabaseAccess;
  readonly spec: DatabaseAccessSpec;
  /** The time of the observation, in epoch milliseconds. */
  readonly nowMs: number;
  readonly endpoint: BoundEndpoint;
  readonly secret: SecretFacts;
  readonly roles: readonly ObservedRole[];
  readonly databases: readonly ObservedDatabase[];
  readonly password: PasswordFacts;
  /** Whether an operation that changes roles and databases of the branch has not ended. */
  readonly isConfigInFlight: boolean;
  readonly settings: ConnectionSettings;
  /** The roles and databases that status records. Empty if the records were made for another resource or cluster. */
  readonly objects: readonly AccessObject[];
  /** What this process knows of its creates, by the key of the object. */
  readonly creates: ReadonlyMap<string, CreateResult>;
}

/** The two kinds of object that a DatabaseAccess manages. */
export type ObjectType = AccessObject["type"];

/** Returns the record of the role or database on the endpoint's branch; `undefined`: there is none. */
export function recordOf(
  objects: readonly AccessObject[],
  { branchId }: Pick<BoundEndpoint, "branchId">,
  type: ObjectType,
): AccessObject | undefined {
  return objects.find((object) => object.type === type && object.branchId === branchId);
}

/** Whether the Secret still has the content that the operator last wrote. */
export function isSecretUntouched({ secret, resource }: Pick<AccessObservation, "secret" | "resource">): boolean {
  return secret.kind === "Own" && secret.secret.resourceVersion === resource.status.secret?.resourceVersion;
}

/** A password that the control plane has returned and that no Secret holds yet. */
export interface PendingPassword {
  readonly password: Password;
  readonly branchId: string;
  readonly roleUpdatedTime: string;
}

/**
 * What this process knows of the creates of one role or database that it has sent. `NotApplied`: none of them took
 * effect. `Accepted`: the control plane accepted one. `Unknown`: the result of one is unknown.
 */
export type CreateResult = "NotApplied" | "Accepted" | "Unknown";

/**
 * The memory of one DatabaseAccess. After a restart all of it is lost, and the operator asks the control plane for the
 * password again. Times are monotonic milliseconds.
 */
export interface AccessEntry {
  project: string;
  /** The version of the resource at its last step; another version makes it due. */
  version: string | undefined;
  dueAtMs: number;
  /** When role, database and password were last compared with the control plane. */
  comparedAtMs: number;
  /** True: a read of the project failed, so the next reconcile compares the resource with the control plane. */
  isOwedLook: boolean;
  /** The endpoint at the last comparison; `undefined`: there was no comparison yet. */
  compared: { readonly endpointId: string; readonly branchId: string; readonly host: string } | undefined;
  /** When this process last changed something for the resource. */
  changedAtMs: number;
  /**
   * A text that describes the endpoint, its replicas, the grants and the control plane at the last reconcile. If the
   * text changes, the resource is due.
   */
  endpointMark: string | undefined;
  /** The latest changes of the branch's roles and databases at the last comparison. */
  configMark: string | undefined;
  /** The ids of the latest changes of the branch's roles and databases when the password was last checked. */
  passwordMark: string | undefined;
  waiting: { readonly sinceMs: number; readonly urgency: ChangeUrgency } | undefined;
  failure: FailureRow | undefined;
  storeFailures: number;
  pendingPassword: PendingPassword | undefined;
  /** The results of creates, by the key of the object. Absent: an earlier process sent the create. */
  readonly creates: Map<string, CreateResult>;
}

/** The memory of a resource that this process sees for the first time. */
export function newAccessEntry(project: string, nowMs: number): AccessEntry {
  return {
    project,
    version: undefined,
    dueAtMs: nowMs,
    comparedAtMs: Number.NEGATIVE_INFINITY,
    isOwedLook: false,
    compared: undefined,
    changedAtMs: nowMs,
    endpointMark: undefined,
    configMark: undefined,
    passwordMark: undefined,
    waiting: undefined,
    failure: undefined,
    storeFailures: 0,
    pendingPassword: undefined,
    creates: new Map(),
  };
}

/** One DatabaseAccess in one reconcile. */
export interface WorkedAccess {
  resource: DatabaseAccess;
  readonly entry: AccessEntry;
  /** Whether `AccessEntry.endpointMark` has changed: the endpoint, a replica, a grant or the control plane. */
  readonly hasMoved: boolean;
}
