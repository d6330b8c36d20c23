/** The events that a step of a DatabaseAccess publishes, besides those of a Stalled. */
import type { ResourceEvent } from "../../domain/resource-store.ts";
import { secretKeyOf } from "../../resource/database-access.ts";
import type { AccessStep } from "./access-observation.ts";
import { eventOfChange, eventOfGone, eventOfWrite } from "./access-summary.ts";

export function accessEvents(step: AccessStep, projectId: string): readonly ResourceEvent[] {
  return [...changeEvents(step, projectId), ...secretEvents(step)];
}

function changeEvents({ plan, outcome }: AccessStep, projectId: string): readonly ResourceEvent[] {
  if (plan?.kind === "ForgetProject") {
    return [eventOfGone(projectId)];
  }
  if (outcome.kind !== "Accepted" || (plan?.kind !== "CreateObject" && plan?.kind !== "DeleteObject")) {
    return [];
  }
  const { type, name } = plan.object;
  const did = plan.kind === "CreateObject" ? "Created" : "Deleted";
  return outcome.answer.isFound === false ? [] : [eventOfChange(`${type}${did}`, name)];
}

function secretEvents({ outcome, facts }: AccessStep): readonly ResourceEvent[] {
  const applied = "applied" in outcome ? outcome.applied : undefined;
  return applied?.kind === "Written" ? [eventOfWrite(applied.cause, secretKeyOf(facts.resource).name)] : [];
}
