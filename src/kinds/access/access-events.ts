import { normal, type ResourceEvent, type SecretWriteCause, warning } from "../../domain/resource-store.ts";
import { secretKeyOf } from "../../resource/database-access.ts";
import type { AccessContext, AccessStep } from "./access-types.ts";
import { deletedWith, retainedRoles } from "./deletion.ts";

/** The events of a step whose result was stored, besides those of a Stalled. */
export function accessEvents({ plan, outcome, facts }: AccessStep): readonly ResourceEvent[] {
  const applied = "applied" in outcome ? outcome.applied : undefined;
  const written = applied?.kind === "Written" ? [eventOfWrite(applied.cause, secretKeyOf(facts.resource).name)] : [];
  const isAccepted = outcome.kind === "Accepted" && outcome.answer.isFound !== false;
  if (!isAccepted || (plan?.kind !== "CreateObject" && plan?.kind !== "DeleteObject")) {
    return written;
  }
  const { type, name } = plan.object;
  const [action, did] =
    plan.kind === "CreateObject" ? (["Create", "Created"] as const) : (["Delete", "Deleted"] as const);
  const note = `The control plane ${did.toLowerCase()} ${type.toLowerCase()} ${name}.`;
  return [normal(`${type}${did}`, action, note), ...written];
}

export function releaseEvents(context: AccessContext, { facts, reads }: AccessStep): readonly ResourceEvent[] {
  const contents = reads.own?.kind === "Contents" ? reads.own.byBranch : new Map();
  const roles = retainedRoles(deletedWith(context, facts.resource), contents);
  return roles.map(({ role, databases }) => eventOfRetained(role, databases));
}

function eventOfWrite(cause: SecretWriteCause, name: string): ResourceEvent {
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

function eventOfRetained(role: string, databases: readonly string[]): ResourceEvent {
  return warning("RoleRetained", "Delete", `Role ${role} stays: it owns ${databases.join(", ")}, which stays too.`);
}
