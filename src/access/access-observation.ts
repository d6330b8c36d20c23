/** The data of a DatabaseAccess: the facts from which the operator decides, and the memory of this process. */

import type { FailureRow } from "../decide/observation.ts";
import type { ObservedDatabase, ObservedRole, Password } from "../domain/control-plane.ts";
import type { ResourceStore, SecretObserver, SecretStore, StoredSecret } from "../domain/resource-store.ts";
import type { KindRoundStart, ReconcileContext } from "../reconcile/ports.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { ConnectionSettings } from "./binding.ts";
import type { BoundEndpoint, FindEndpoint } from "./endpoint-reference.ts";

export interface AccessParts extends Pick<ReconcileContext, "clock" | "random" | "logger" | "events" | "policy"> {
  readonly observer: SecretObserver;
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  readonly findEndpoint: FindEndpoint;
  readonly secrets: SecretStore;
  readonly settingsOf: (planeId: string) => ConnectionSettings;
}

export interface AccessContext extends AccessParts, KindRoundStart {}

export type SecretFacts =
  | { readonly kind: "Absent" }
  | { readonly kind: "Own"; readonly secret: StoredSecret }
  /** The Secret exists but has no owner reference to this resource. */
  | { readonly kind: "Foreign" }
  /** The operator has no right to read Secrets in this namespace. `account` is its service account. */
  | { readonly kind: "Forbidden"; readonly account: string };

/** What the operator knows about the password. `Unavailable`: the control plane does not reveal it. */
export type PasswordFacts =
  | { readonly kind: "Known"; readonly password: Password }
  | { readonly kind: "Unavailable" }
  /** The Secret that `secretRef` names does not exist, or it has no value for the key. */
  | { readonly kind: "Missing" }
  /** The role or the right to the Secret is missing, or the password is hidden and the Secret holds it already. */
  | { readonly kind: "NotRead" };

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
  /** The password reset that this resource has begun; `undefined`: none. A note in a copied status does not count. */
  readonly openReset: NonNullable<DatabaseAccessStatus["password"]>["rotation"];
  /** When the password must be reset because of its age, in epoch milliseconds. Infinity: never. */
  readonly rotationDueMs: number;
  /** Whether the password is the answer to a change that this process has sent. */
  readonly isAnswered: boolean;
}

export type ObjectType = AccessObject["type"];

export function validSpecOf({ spec }: DatabaseAccess): DatabaseAccessSpec | undefined {
  return spec.kind === "Valid" ? spec.spec : undefined;
}

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

/** If it is lost, the resource is compared with the control plane at once. Times are monotonic milliseconds. */
export interface AccessEntry {
  dueAtMs: number;
  /** The last answer to `seenOf`. With another one the resource is due. `undefined`: the resource is due. */
  seen: string | undefined;
  /** The last comparison with the control plane; `undefined`: there was none since the last failure or change. */
  compared: { readonly endpoint: BoundEndpoint; readonly configMark: string; readonly atMs: number } | undefined;
  /** Since when a change waits to be sent; `undefined`: none waits. Forgotten: it waits from now on. */
  waitingSinceMs: number | undefined;
  /** Forgotten: the backoff begins again. */
  failure: FailureRow | undefined;
  storeFailures: number;
  /** Forgotten: the operator reveals the password. If the control plane hides it, a rotation sets another one. */
  pendingPassword: PendingPassword | undefined;
  /** By `createKeyOf`. `Existing`: no create took effect. Forgotten: the object counts as presumably created. */
  readonly creates: Map<string, "Existing" | "Created">;
}

export function newEntry(nowMs: number): AccessEntry {
  return {
    ...{ dueAtMs: nowMs, seen: undefined, compared: undefined, waitingSinceMs: undefined },
    ...{ failure: undefined, storeFailures: 0, pendingPassword: undefined, creates: new Map() },
  };
}

export function seenOf({ resource, mark }: Pick<WorkedAccess, "resource" | "mark">): string {
  return `${resource.resourceVersion} ${mark}`;
}

export interface WorkedAccess {
  resource: DatabaseAccess;
  readonly entry: AccessEntry;
  readonly mark: string;
}
