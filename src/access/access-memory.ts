/** What this process remembers of a DatabaseAccess. */
import type { ChangeUrgency } from "../decide/choose-mutation.ts";
import type { FailureRow } from "../decide/resource-memory.ts";
import type { Password } from "../domain/branch-objects.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";

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
  /** A text that describes the endpoint and its replicas at the last step. If the text changes, the resource is due. */
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
  /** Whether the resource's endpoint, or a replica of its branch, has changed since the last step. */
  readonly hasMoved: boolean;
}
