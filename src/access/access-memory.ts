import type { ChangeUrgency } from "../decide/choose-mutation.ts";
import type { FailureRow } from "../decide/resource-memory.ts";
import type { Password } from "../domain/password.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";

/** A password that the control plane has told and that no Secret holds yet. */
export interface PendingPassword {
  readonly password: Password;
  readonly branchId: string;
  readonly roleUpdatedTime: string;
}

/**
 * What this process remembers of one DatabaseAccess. A restart loses all of it: the control plane then reveals the password
 * again. Times are monotonic milliseconds.
 */
export interface AccessEntry {
  projectId: string;
  /** The version of the resource at its last step; another version makes it due. */
  version: string | undefined;
  dueAtMs: number;
  /** The last time role, database and password were compared with the control plane. */
  comparedAtMs: number;
  /** A read of the project failed: the next one looks at the resource again. */
  isOwedLook: boolean;
  /** The endpoint at the last comparison. */
  compared: { readonly endpointId: string; readonly branchId: string; readonly host: string } | undefined;
  /** When this process last changed something for it. */
  changedAtMs: number;
  /** The endpoint and its replicas at the last step; another text makes the resource due. */
  endpointMark: string | undefined;
  /** The latest change of roles and databases of the branch at the last comparison. */
  configMark: string | undefined;
  waiting: { readonly sinceMs: number; readonly urgency: ChangeUrgency } | undefined;
  failure: FailureRow | undefined;
  storeFailures: number;
  pendingPassword: PendingPassword | undefined;
}

/** The memory of a resource that this process sees for the first time. */
export function newAccessEntry(projectId: string, nowMs: number): AccessEntry {
  return {
    projectId,
    version: undefined,
    dueAtMs: nowMs,
    comparedAtMs: Number.NEGATIVE_INFINITY,
    isOwedLook: false,
    compared: undefined,
    changedAtMs: nowMs,
    endpointMark: undefined,
    configMark: undefined,
    waiting: undefined,
    failure: undefined,
    storeFailures: 0,
    pendingPassword: undefined,
  };
}

/** One DatabaseAccess in one reconcile. */
export interface WorkedAccess {
  resource: DatabaseAccess;
  readonly entry: AccessEntry;
  /** Whether its ComputeEndpoint, or a replica of its branch, is another one than at the last step. */
  readonly hasMoved: boolean;
}
