/** The texts of DatabaseAccesses: condition messages and Kubernetes events. */

import {
  allowSecretsCommand,
  normal,
  type ResourceEvent,
  type SecretWriteCause,
  warning,
} from "../domain/resource-store.ts";
import { type DatabaseAccess, secretKeyOf } from "../resource/database-access.ts";
import type { DatabaseAccessSpec } from "../resource/database-access-schema.ts";
import { annotations } from "../resource/names.ts";

/** The message while the control plane has not yet created role and database in PostgreSQL. */
export const waitingForConfiguration = "Waiting for apply_config to end: it creates role and database in PostgreSQL.";

/** Says that the Secret of that name belongs to another object. */
export function secretExists(resource: DatabaseAccess): string {
  const { name } = secretKeyOf(resource);
  return `A Secret ${name} exists and does not belong to this resource, so the operator does not change it. Delete that Secret, or create this resource with another spec.secret.name.`;
}

/** Says that the operator has no right on Secrets of the namespace. @param account of the operator, `namespace:name` */
export function secretsForbidden({ key }: DatabaseAccess, account: string): string {
  return `The operator lacks the right to get, create, patch and delete Secrets in this namespace. Allow it with: ${allowSecretsCommand(key.namespace, account)}`;
}

/**
 * Says that the role does not exist. @param isGiven true: the policy allows the operator to create the role, but spec
 * gives its password
 */
export function roleNotFound(role: string, branchId: string, isGiven: boolean): string {
  const remedy = isGiven
    ? "The control plane has no call that sets a given password: create the role with that password, or remove spec.password.secretRef."
    : "Create the role, or set spec.role.policy to CreateIfAbsent.";
  return `Branch ${branchId} has no role ${role}. ${remedy}`;
}

/** Says that the database does not exist and the operator may not create it. */
export function databaseNotFound(database: string, branchId: string): string {
  return `Branch ${branchId} has no database ${database}. Create the database, or set spec.database.policy to CreateIfAbsent.`;
}

/** Says that the database belongs to another role. */
export function databaseOwnedByAnother(database: string, owner: string): string {
  return `Database ${database} belongs to role ${owner}. Grant this role its privileges in SQL and set spec.database.policy to MustExist, or use the role ${owner}.`;
}

/** Says that the control plane does not reveal passwords (it answered 412). */
export function passwordUnavailable(role: string): string {
  return `The control plane does not reveal the password of role ${role}. For a new password, annotate this resource with ${annotations.rotateRequestedAt}=<any new value>. To give the password yourself, set spec.password.secretRef.`;
}

/** Says that the Secret of `secretRef` does not hold the password. */
export function passwordMissing(ref: NonNullable<DatabaseAccessSpec["password"]>["secretRef"]): string {
  return `Secret ${ref?.name ?? ""} has no key ${ref?.key ?? ""}. Create the Secret with that key. The operator checks again within a minute.`;
}

/** Says that the ComputeEndpoint does not exist, or is being deleted. */
export function endpointNotFound(name: string): string {
  return `There is no ComputeEndpoint ${name} in this namespace. The operator continues when it exists.`;
}

/** Says that the ComputeEndpoint's ownership record was made for another resource, cluster or control plane. */
export function endpointUnproven(name: string): string {
  return `The ownership record of ComputeEndpoint ${name} was made for another resource, cluster or control plane. So the operator reads and changes nothing for this resource. Look at the condition Stalled of that ComputeEndpoint.`;
}

/** Says that the records in status cannot be parsed. @param isBeingDeleted whether the resource is being deleted */
export function recordsUnreadable(isBeingDeleted: boolean): string {
  const remedy = isBeingDeleted
    ? "To remove this resource without deleting role and database, set both deletionPolicy fields to Retain."
    : "Start the version of the operator that wrote status, or delete this resource and create it again.";
  return `The records in status cannot be read, so the operator does not know which role and database it created. It creates, changes and deletes nothing. ${remedy}`;
}

/** Says that the ComputeEndpoint has no endpoint yet. */
export function waitingForEndpoint(name: string): string {
  return `ComputeEndpoint ${name} has no endpoint yet. The operator continues when it has one.`;
}

/** Says that the resource is paused. */
export const paused = `Paused: the operator changes nothing, deletion included. Remove the annotation ${annotations.paused} to continue.`;

/** Says that the role cannot be deleted. */
export function roleInUse(role: string, why: string): string {
  return `${why}. Role ${role} still owns objects. Reassign them, or set spec.role.deletionPolicy to Retain.`;
}

/** Says that everything matches spec. */
export const ready = "Role and database exist, and the Secret holds the connection data.";

/** Says that the deletion waits for the control plane. */
export const deleting = "The operator deletes what this resource created, and then the Secret.";

/** Says that the deletion waits, because another namespace may use the same role or database. */
export const usersUnlisted =
  "The deletion waits: the operator may not list the DatabaseAccesses of another namespace, which may use the same role or database. The log of the operator names the right and the namespace. Give it that right. Or set both deletionPolicy fields to Retain.";

/** Returns the event for a written Secret. */
export function eventOfWrite(cause: SecretWriteCause, secretName: string): ResourceEvent {
  switch (cause) {
    case "Created":
      return normal("SecretCreated", "Write", `The operator created Secret ${secretName} with the connection data.`);
    case "Restored":
      return warning(
        "SecretRestored",
        "Write",
        `Secret ${secretName} was changed or deleted. The operator restored it.`,
      );
    case "Rotated":
      return normal("PasswordRotated", "Rotate", `Secret ${secretName} holds the new password.`);
    case "ConnectionChanged":
      return normal(
        "ConnectionChanged",
        "Write",
        `The operator updated Secret ${secretName}: host names or password changed.`,
      );
  }
}

/** Returns the event for a role or database that the control plane created or deleted for the resource. */
export function eventOfChange(
  change: "RoleCreated" | "DatabaseCreated" | "RoleDeleted" | "DatabaseDeleted",
  name: string,
): ResourceEvent {
  const action = change.endsWith("Created") ? "Create" : "Delete";
  const what = change.startsWith("Role") ? "role" : "database";
  return normal(change, action, `The control plane ${action === "Create" ? "created" : "deleted"} ${what} ${name}.`);
}

/** Returns the event for a role that stays because it owns a database that stays. */
export function roleRetained(role: string, databases: readonly string[]): ResourceEvent {
  return warning("RoleRetained", "Delete", `Role ${role} stays: it owns ${databases.join(", ")}, which stays too.`);
}
