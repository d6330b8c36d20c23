import type { ResourceEvent } from "../domain/event-recorder.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import type { WriteCause } from "./plan-access.ts";

/** Returns the event for a written Secret. */
export function eventOfWrite(cause: WriteCause, secretName: string): ResourceEvent {
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

/** Returns the event for a role or database that was created or deleted at the control plane. */
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

/** Returns the event for a resource that became Stalled, if this step made it Stalled. */
export function eventOfStall(before: DatabaseAccessStatus, next: DatabaseAccessStatus): readonly ResourceEvent[] {
  const stalled = conditionOf(next.conditions, "Stalled");
  const isNews = stalled !== undefined && conditionOf(before.conditions, "Stalled")?.reason !== stalled.reason;
  return isNews ? [warning(stalled.reason, "Reconcile", stalled.message)] : [];
}

function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}
