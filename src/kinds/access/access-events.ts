import { normal, type ResourceEvent } from "../../domain/resource-store.ts";
import { secretKeyOf } from "../../resource/database-access.ts";
import type { AccessStep } from "./access-observation.ts";
import { eventOfWrite } from "./access-summary.ts";

/** The events that a step publishes, besides those of a Stalled. */
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
