/** The data of a DatabaseAccess: the facts from which the operator decides, and the memory of this process. */

import type { FailureRow } from "../decide/observation.ts";
import type { ObservedDatabase, ObservedRole, Password } from "../domain/control-plane.ts";
import type {
  KindStanding,
  ResourceStore,
  SecretObserver,
  SecretStore,
  StoredSecret,
} from "../domain/resource-store.ts";
import type { KindRoundStart, ReconcileContext } from "../reconcile/ports.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { ConnectionSettings } from "./binding.ts";
import type { BoundEndpoint, FindEndpoint } from "./endpoint-reference.ts";

/** The stores and settings that all reconciles of DatabaseAccesses use. */
export interface AccessParts extends Pick<ReconcileContext, "clock" | "random" | "logger" | "events" | "policy"> {
  readonly observer: SecretObserver;
  /** The DatabaseAccesses of the namespaces that are listed. The others are not reconciled. */
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  /** Returns the watched namespaces whose DatabaseAccesses are not listed yet, or may not be listed. */
  readonly unlistedNamespaces: () => ReadonlyMap<string, KindStanding>;
  readonly findEndpoint: FindEndpoint;
  readonly secrets: SecretStore;
  readonly settingsOf: (planeId: string) => ConnectionSettings;
}

/** `AccessParts`, and the project of one reconcile with its control plane. */
export interface AccessContext extends AccessParts, KindRoundStart {}

/** The state of the Secret that the resource writes, as the API server shows it. */
export type SecretFacts =
  | { readonly kind: "Absent" }
  | { readonly kind: "Own"; readonly secret: StoredSecret }
  /** The Secret exists but has no owner reference to this resource. */
  | { readonly kind: "Foreign" }
  /** The operator has no right to read Secrets in this namespace. `account` is its service account. */
  | { readonly kind: "Forbidden"; readonly account: string };

/** What the operator knows about the password. `Unavailable`: the control plane does not reveal it. */
export type PasswordFacts =
  /** `roleUpdatedTime` is `undefined` if a person gave the password in a Secret. */
  | { readonly kind: "Known"; readonly password: Password; readonly roleUpdatedTime: string | undefined }
  | { readonly kind: "Unavailable" }
  /** The Secret that `secretRef` names does not exist, or it has no value for the key. */
  | { readonly kind: "Missing" }
  /**
   * The password was not read: the Secret holds it already, belongs to another object or may not be read, or there is
   * no such role.
   */
  | { readonly kind: "NotRead" };

/** The facts from which one decision about a DatabaseAccess is made. */
export interface AccessObservation {
  readonly resource: DatabaseAccess;
  readonly spec: DatabaseAccessSpec;
  readonly nowMs: number;
  readonly endpoint: BoundEndpoint;
  readonly secret: SecretFacts;
  readonly roles: readonly ObservedRole[];
  readonly databases: readonly ObservedDatabase[];
  readonly password: PasswordFacts;
  /** Whether an operation that changes roles and databases of the branch has not ended. */
  readonly isConfigInFlight: boolean;
  readonly settings: ConnectionSettings;
  /** The recorded roles and databases, updated with the lists of this observation. */
  readonly objects: readonly AccessObject[];
  /**
   * The password reset that this resource has begun, as status notes it; `undefined`: none. A note in a copied status
   * does not count.
   */
  readonly openReset: NonNullable<DatabaseAccessStatus["password"]>["rotation"];
  /** Whether the control plane accepted the begun password reset from this process. */
  readonly isResetAccepted: boolean;
}

/** The two kinds of object that a DatabaseAccess manages. */
export type ObjectType = AccessObject["type"];

/** Returns the spec; `undefined`: it is not valid. */
export function validSpecOf({ spec }: DatabaseAccess): DatabaseAccessSpec | undefined {
  return spec.kind === "Valid" ? spec.spec : undefined;
}

/** Returns the role that spec names; `undefined`: the branch does not have it. */
export function roleIn({ roles, spec }: Pick<AccessObservation, "roles" | "spec">): ObservedRole | undefined {
  return roles.find(({ name }) => name === spec.role.name);
}

/** Whether the Secret belongs to the resource and is the version that the operator last noted in status. */
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
export class AccessEntry {
  projectKey: string;
  dueAtMs: number;
  changedAtMs: number;
  /** The version of the resource at its last step. With another version the resource is due. */
  version: string | undefined;
  /** The last comparison with the control plane; `undefined`: there was none since the last failure. */
  compared: { readonly endpoint: BoundEndpoint; readonly configMark: string; readonly atMs: number } | undefined;
  /** True: a read of the project failed, so the next reconcile compares the resource with the control plane. */
  isOwedLook = false;
  /**
   * A text that describes the endpoint, its replicas, the grants and the control plane at the last reconcile. Another
   * text makes the resource due.
   */
  mark: string | undefined;
  /** The ids of the latest changes of the branch's roles and databases when the password was last checked. */
  passwordMark: string | undefined;
  /** Since when a change waits to be sent; `undefined`: none waits. */
  waitingSinceMs: number | undefined;
  failure: FailureRow | undefined;
  storeFailures = 0;
  pendingPassword: PendingPassword | undefined;
  isResetAccepted = false;
  /**
   * The results of creates, by the key of the object. Absent: this process sent none, but an earlier process may have
   * sent one.
   */
  readonly creates = new Map<string, CreateResult>();
  /** When the operator stopped to wait for the answer to a create or DELETE, by the key of the object. */
  readonly unanswered = new Map<string, number>();
  /** When the operator last stopped to wait for the answer to a DELETE; `undefined`: this process got every answer. */
  unansweredDeleteMs: number | undefined;
  readonly firstSeenMs: number;
  /** Whether the resource was being deleted when this process first saw it. An earlier process may have sent a DELETE. */
  readonly wasDeletingAtFirst: boolean;

  constructor(projectKey: string, { deletionTimestamp }: DatabaseAccess, nowMs: number) {
    this.projectKey = projectKey;
    this.firstSeenMs = nowMs;
    this.wasDeletingAtFirst = deletionTimestamp !== undefined;
    this.dueAtMs = nowMs;
    this.changedAtMs = nowMs;
  }
}

/** One DatabaseAccess in one reconcile. */
export interface WorkedAccess {
  resource: DatabaseAccess;
  readonly entry: AccessEntry;
  readonly hasMoved: boolean;
}
