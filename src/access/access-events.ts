/** The Kubernetes events of DatabaseAccesses. */
import { normal, warning } from "../decide/event.ts";
import type { ResourceEvent } from "../domain/resource-store.ts";
import type { SecretWriteCause } from "../domain/secret-store.ts";

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
