/** The types of the kind DatabaseAccess, and what a decision about one is made from. */
import type { DatabaseSettings, ObservedDatabase, ObservedRole, Password } from "../../domain/control-plane.ts";
import type { Operation } from "../../domain/operation.ts";
import type {
  ResourceKey,
  ResourceStore,
  SecretData,
  SecretObserver,
  SecretStore,
  SecretWriteCause,
  StoredSecret,
} from "../../domain/resource-store.ts";
import type { Facts, PlanOf, ProjectFacts, Step } from "../../engine/kind.ts";
import type { FindBranch } from "../../resource/branch-place.ts";
import type { ComputeEndpoint } from "../../resource/compute-endpoint.ts";
import type { DatabaseAccess } from "../../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec, DatabaseAccessStatus } from "../../resource/database-access-schema.ts";

export type FindEndpoint = (key: ResourceKey) => ComputeEndpoint | undefined;

export interface BoundEndpoint {
  readonly projectId: string;
  readonly branchId: string;
  readonly endpointId: string;
  readonly hosts: {
    readonly host: string;
    /** `undefined`: the control plane's host names do not show it. */
    readonly pooledHost: string | undefined;
    /** The host names of read replicas for direct connections, sorted. */
    readonly readHosts: readonly string[];
  };
  /** Names the copy of the parent's data that the branch of a DatabaseBranch holds. @default no DatabaseBranch made it */
  readonly copy?: string | undefined;
}

export interface AccessParts {
  readonly observer: SecretObserver;
  readonly store: ResourceStore<DatabaseAccess, DatabaseAccessStatus>;
  readonly findEndpoint: FindEndpoint;
  readonly findBranch: FindBranch;
  /** The ComputeEndpoints that name a project. */
  readonly endpointsOf: (projectId: string) => readonly ComputeEndpoint[];
  readonly secrets: SecretStore;
  readonly settingsOf: (planeId: string) => DatabaseSettings;
}

/** What all decisions of one reconcile share. */
export interface AccessContext extends AccessParts, ProjectFacts {}

export type AccessPlan =
  /** Notes the object in status, and creates it. */
  | { readonly kind: "CreateObject"; readonly object: AccessObject }
  /** Notes the reset in status, and resets the password. The Secret is written right after that. */
  | { readonly kind: "ResetPassword" }
  | { readonly kind: "DeleteObject"; readonly object: AccessObject }
  | { readonly kind: "WriteSecret"; readonly data: SecretData; readonly cause: SecretWriteCause }
  /** Role and database exist, and the Secret holds the connection data. */
  | { readonly kind: "Settled" };

export interface AccessTypes {
  readonly resource: DatabaseAccess;
  readonly status: DatabaseAccessStatus;
  readonly plan: AccessPlan;
  readonly own: AccessReads;
  readonly answer: AccessAnswer;
  readonly applied: AppliedSecret;
  readonly hint: AccessHint;
}

export type Plan = PlanOf<AccessTypes>;
export type AccessFacts = Facts<AccessTypes>;
export type AccessStep = Step<AccessTypes>;

export interface AccessAnswer {
  readonly operations: readonly Operation[];
  /** A password that the control plane has made; `undefined`: it made or showed none. */
  readonly password?: PendingPassword | undefined;
  /** False: a DELETE found nothing to delete. @default true */
  readonly isFound?: boolean;
}

/** A Secret as the operator has just written it. */
export interface AppliedSecret {
  readonly resourceVersion: string;
  readonly cause: SecretWriteCause;
}

/** A password that the control plane has returned and that no Secret holds yet. */
export interface PendingPassword {
  readonly password: Password;
  readonly branchId: string;
  readonly roleUpdatedTime: string;
}

export interface Comparison {
  /** Names the endpoint and the configuration changes that were compared. */
  readonly mark: string;
  readonly atMs: number;
}

export interface AccessHint {
  /** The last comparison with the control plane. Forgotten: the resource is compared at once. */
  readonly compared?: Comparison | undefined;
  /** Forgotten: the operator reveals the password. If the control plane hides it, a rotation sets another one. */
  readonly password?: PendingPassword | undefined;
}

export type SecretFacts =
  | { readonly kind: "Absent" }
  | { readonly kind: "Own"; readonly secret: StoredSecret }
  /** The Secret exists but has no owner reference to this resource. */
  | { readonly kind: "Foreign" }
  /** The operator has no right to read Secrets in this namespace. */
  | { readonly kind: "Forbidden" };

/** What the operator knows about the password. `Unavailable`: the control plane does not reveal it. */
export type PasswordFacts =
  | { readonly kind: "Known"; readonly password: Password }
  | { readonly kind: "Unavailable" }
  /** The Secret that `secretRef` names does not exist, or it has no value for the key. */
  | { readonly kind: "Missing" }
  /** The role or the right to the Secret is missing, or the role may have the password of the parent. */
  | { readonly kind: "NotRead" };

export interface BranchContents {
  readonly roles: readonly ObservedRole[];
  readonly databases: readonly ObservedDatabase[];
}

export type AccessReads =
  /** Only Kubernetes was read. `isUnchanged`: the Secrets are as the operator last compared them. */
  | { readonly kind: "Secret"; readonly isUnchanged: boolean }
  /** By branch; an empty one if it is gone. */
  | { readonly kind: "Contents"; readonly byBranch: ReadonlyMap<string, BranchContents> }
  | ({ readonly kind: "Access" } & Observed);

interface Observed extends BranchContents {
  readonly endpoint: BoundEndpoint;
  readonly secret: SecretFacts;
  readonly password: PasswordFacts;
  /** Whether the password is the answer to a change that this process has sent. */
  readonly isAnswered: boolean;
  /** Whether an operation that changes roles and databases of the branch runs. After a minute none is waited for. */
  readonly isConfigInFlight: boolean;
  /** The newest such operation, if it failed: PostgreSQL may not have the roles and databases of the lists. */
  readonly failedConfig: Operation | undefined;
}

export interface AccessObservation extends Observed {
  readonly resource: DatabaseAccess;
  readonly spec: DatabaseAccessSpec;
  readonly nowMs: number;
  readonly policy: AccessFacts["policy"];
  readonly account: string;
  readonly settings: DatabaseSettings;
  /** The recorded roles and databases, updated with the lists of this observation. */
  readonly objects: readonly AccessObject[];
  /** The password reset that this resource has begun; `undefined`: none. A note in a copied status does not count. */
  readonly openReset: NonNullable<DatabaseAccessStatus["password"]>["rotation"];
  /** The operation of the last reset; `undefined`: it had succeeded, no list shows it, or the password is given. */
  readonly resetOperation: Operation | undefined;
  /** When the password must be reset because of its age, in epoch milliseconds. Infinity: never. */
  readonly rotationDueMs: number;
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
