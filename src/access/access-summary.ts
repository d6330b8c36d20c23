import {
  accessRemedies,
  briefOutageMs,
  failureProgressOf,
  failureStallOf,
  sentenceOf,
} from "../decide/call-failures.ts";
import { unfinishedDrafts } from "../decide/conditions-for.ts";
import { waitingForProjectMessage } from "../decide/plan.ts";
import { notGrantedMessage } from "../decide/project-grant.ts";
import { withoutEmpty } from "../decide/status-for.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import {
  allowSecretsCommand,
  normal,
  type ResourceEvent,
  type SecretWriteCause,
  warning,
} from "../domain/resource-store.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import {
  type AccessProgressReason,
  type AccessStallReason,
  type ConditionDraft,
  conditionOf,
  isTrue,
  mergeConditions,
} from "../resource/conditions.ts";
import { planeName } from "../resource/control-plane-resource.ts";
import { type DatabaseAccess, recordedPlaneOf, secretKeyOf } from "../resource/database-access.ts";
import type { AccessObject, DatabaseAccessSpec, DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";

export type AccessSummary =
  | { readonly kind: "Ready" }
  | { readonly kind: "Progressing"; readonly reason: AccessProgressReason; readonly message: string }
  | { readonly kind: "Stalled"; readonly reason: AccessStallReason; readonly message: string }
  | { readonly kind: "Paused" }
  | { readonly kind: "Unchanged" };

const progressing = (reason: AccessProgressReason, message: string): AccessSummary => ({
  kind: "Progressing",
  reason,
  message,
});
const stalled = (reason: AccessStallReason, message: string): AccessSummary => ({ kind: "Stalled", reason, message });

const retainBoth =
  "To remove this resource without deleting role and database, set both deletionPolicy fields to Retain.";

export const unchanged: AccessSummary = { kind: "Unchanged" };

export const waits = {
  creating: (type: AccessObject["type"]) =>
    type === "Role"
      ? progressing("CreatingRole", "The operator creates the role.")
      : progressing("CreatingDatabase", "The operator creates the database."),
  configuration: progressing(
    "OperationInFlight",
    "Waiting for apply_config to end: it creates role and database in PostgreSQL.",
  ),
  project: progressing("WaitingForProject", waitingForProjectMessage),
  endpointNotFound: (name: string) =>
    progressing(
      "EndpointNotFound",
      `There is no ComputeEndpoint ${name} in this namespace. The operator continues when it exists.`,
    ),
  endpoint: (name: string) =>
    progressing(
      "WaitingForEndpoint",
      `ComputeEndpoint ${name} has no endpoint yet. The operator continues when it has one.`,
    ),
  deleting: progressing("Deleting", "The operator deletes what this resource created, and then the Secret."),
} as const;

export const stalls = {
  invalidSpec: (problems: string) =>
    stalled("InvalidSpec", `The stored spec is not valid: ${problems}. Apply a corrected spec.`),
  notGranted: (...place: Parameters<typeof notGrantedMessage>) =>
    stalled("ProjectNotGranted", notGrantedMessage(...place)),
  secretExists: (resource: DatabaseAccess) =>
    stalled(
      "SecretExists",
      `A Secret ${secretKeyOf(resource).name} exists and does not belong to this resource, so the operator does not change it. Delete that Secret, or create this resource with another spec.secret.name.`,
    ),
  secretsForbidden: ({ key }: DatabaseAccess, account: string) =>
    stalled(
      "SecretsForbidden",
      `The operator lacks the right to get, create, patch and delete Secrets in this namespace. Allow it with: ${allowSecretsCommand(key.namespace, account)}`,
    ),
  roleNotFound: ({ role }: DatabaseAccessSpec, branchId: string) =>
    stalled(
      "RoleNotFound",
      `Branch ${branchId} has no role ${role.name}. ${
        role.policy === "MustExist"
          ? "Create the role, or set spec.role.policy to CreateIfAbsent."
          : "The control plane has no call that sets a given password: create the role with that password, or remove spec.password.secretRef."
      }`,
    ),
  databaseNotFound: (name: string, branchId: string) =>
    stalled(
      "DatabaseNotFound",
      `Branch ${branchId} has no database ${name}. Create the database, or set spec.database.policy to CreateIfAbsent.`,
    ),
  databaseOwnedByAnother: (name: string, owner: string) =>
    stalled(
      "DatabaseOwnedByAnother",
      `Database ${name} belongs to role ${owner}. Grant this role its privileges in SQL and set spec.database.policy to MustExist, or use the role ${owner}.`,
    ),
  passwordUnavailable: (role: string) =>
    stalled(
      "PasswordUnavailable",
      `The control plane does not reveal the password of role ${role}. For a new password, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>. To give the password yourself, set spec.password.secretRef.`,
    ),
  passwordMissing: ({ password }: DatabaseAccessSpec) =>
    stalled(
      "PasswordMissing",
      `Secret ${password?.secretRef?.name ?? ""} has no key ${password?.secretRef?.key ?? ""}. Create the Secret with that key. The operator checks again within a minute.`,
    ),
  endpointUnproven: (name: string) =>
    stalled(
      "IdentityUnproven",
      `The ownership record of ComputeEndpoint ${name} was made for another resource, cluster or control plane. So the operator reads and changes nothing for this resource. Look at the condition Stalled of that ComputeEndpoint.`,
    ),
  recordsUnreadable: ({ deletionTimestamp }: DatabaseAccess) =>
    stalled(
      "IdentityUnproven",
      `The records in status cannot be read, so the operator does not know which role and database it created. It creates, changes and deletes nothing. ${
        deletionTimestamp === undefined ? "Delete this resource and create it again." : retainBoth
      }`,
    ),
  recordsElsewhere(resource: DatabaseAccess) {
    const { status, deletionTimestamp } = resource;
    const { serviceUrl = "" } = status.records ?? {};
    const remedy =
      deletionTimestamp === undefined
        ? "Restore that URL and that control plane, or delete this resource and create it again."
        : `Restore that URL. ${retainBoth}`;
    return stalled(
      "IdentityUnproven",
      `The records in status name role and database at ${planeName(recordedPlaneOf(resource))} with the URL ${serviceUrl}. The operator uses another control plane or URL for this resource now, so it creates, changes and deletes nothing. ${remedy}`,
    );
  },
  roleInUse: (role: string, { message }: ControlPlaneError) =>
    stalled(
      "RoleInUse",
      `${message}. Role ${role} still owns objects. Reassign them, or set spec.role.deletionPolicy to Retain.`,
    ),
} as const;

/** A brief failure leaves Ready and Stalled unchanged; a refused key does not. `forMs`: how long calls have failed. */
export function summaryOfFailure(resource: DatabaseAccess, error: ControlPlaneError, forMs: number): AccessSummary {
  const stall = failureStallOf(error, forMs);
  const remedy = resource.deletionTimestamp === undefined ? "" : ` ${retainBoth}`;
  if (stall !== undefined) {
    return stalled(stall, `${sentenceOf(error)} ${accessRemedies[stall]}${remedy}`);
  }
  const { conditions } = resource.status;
  const isSettled = isTrue(conditions, "Ready") || isTrue(conditions, "Stalled");
  const reason = failureProgressOf(error);
  return isSettled && forMs < briefOutageMs && reason !== "Unauthorized"
    ? unchanged
    : progressing(reason, `${sentenceOf(error)} The operator tries again.${remedy}`);
}

/** Returns the status after a step. Pure: equal input gives equal status. While a resource is being deleted, it is not Ready. */
export function accessStatus(
  resource: DatabaseAccess,
  given: AccessSummary,
  { changes, nowMs }: { readonly changes: Partial<DatabaseAccessStatus>; readonly nowMs: number },
): DatabaseAccessStatus {
  const { status, generation } = resource;
  const isReady = isTrue(status.conditions, "Ready");
  const summary = given.kind === "Unchanged" && isReady && isBeingDeleted(resource) ? waits.deleting : given;
  const handled =
    summary.kind === "Unchanged"
      ? {}
      : {
          observedGeneration: generation,
          lastHandledReconcileAt: resource.annotations[annotations.reconcileRequestedAt],
          conditions: mergeConditions(status.conditions, draftsOf(resource, summary), { generation, nowMs }),
        };
  return withoutEmpty({ ...status, ...changes, ...handled });
}

function draftsOf(
  { status, generation }: DatabaseAccess,
  summary: Exclude<AccessSummary, { kind: "Unchanged" }>,
): readonly ConditionDraft[] {
  switch (summary.kind) {
    case "Ready": {
      const message = "Role and database exist, and the Secret holds the connection data.";
      return [{ type: "Ready", status: "True", reason: "UpToDate", message }];
    }
    case "Paused": {
      const ready = conditionOf(status.conditions, "Ready");
      const isReady = ready?.observedGeneration === generation && ready.status === "True";
      const message = `Paused: the operator changes nothing, deletion included. Remove the annotation ${annotations.paused} to continue.`;
      return [{ type: "Ready", status: isReady ? "True" : "Unknown", reason: "Paused", message }];
    }
    default:
      return unfinishedDrafts(summary);
  }
}

export function eventOfWrite(cause: SecretWriteCause, name: string): ResourceEvent {
  switch (cause) {
    case "Created":
      return normal("SecretCreated", "Write", `The operator created Secret ${name} with the connection data.`);
    case "Restored":
      return warning("SecretRestored", "Write", `Secret ${name} was changed or deleted. The operator restored it.`);
    case "Rotated":
      return normal("PasswordRotated", "Rotate", `Secret ${name} holds the new password.`);
    case "ConnectionChanged":
      return normal(
        "ConnectionChanged",
        "Write",
        `The operator updated Secret ${name}: host names, password or spec.secret changed.`,
      );
  }
}

export function eventOfChange(
  change: "RoleCreated" | "DatabaseCreated" | "RoleDeleted" | "DatabaseDeleted",
  name: string,
): ResourceEvent {
  const [action, did] = change.endsWith("Created") ? ["Create", "created"] : ["Delete", "deleted"];
  const what = change.startsWith("Role") ? "role" : "database";
  return normal(change, action, `The control plane ${did} ${what} ${name}.`);
}

export function eventOfGone(projectId: string): ResourceEvent {
  return warning("ProjectGone", "Delete", `Project ${projectId} does not exist, so role and database there are gone.`);
}

export function eventOfRetained(role: string, databases: readonly string[]): ResourceEvent {
  return warning("RoleRetained", "Delete", `Role ${role} stays: it owns ${databases.join(", ")}, which stays too.`);
}
