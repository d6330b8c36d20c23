/** Computes the Kubernetes events that report what a reconcile did for one resource. */
import { normal, type ResourceEvent, warning } from "../domain/resource-store.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus, Condition } from "../resource/status-schema.ts";
import type { ResourceStep } from "./observation.ts";
import type { Plan, PlanOf } from "./plan.ts";
import { rulesOf } from "./plan-table.ts";

const noteLimit = 1024;

/** Each event reports a transition, so a resource at rest has none. @param next the status that was stored */
export function eventsFor(step: ResourceStep, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const previous = step.local.resource.status;
  return [...ownershipEvents(step, next), ...conditionEvents(previous, next), ...fieldEvents(previous, next)].map(
    (event) => ({ ...event, note: event.note.slice(0, noteLimit) }),
  );
}

/** Tells a person why connections will drop. Empty for a change that drops none. */
export function eventsBefore(plan: Plan): readonly ResourceEvent[] {
  return rulesOf(plan).eventsBefore(plan);
}

/** Returns the events that are published before the finalizer is removed, because the resource is gone afterwards. */
export function releaseEvents(
  plan: PlanOf<"RemoveFinalizer">,
  { conditions, ownership, createIntent }: ComputeEndpointStatus,
): readonly ResourceEvent[] {
  const { abandoned } = plan;
  if (plan.cause === "ProjectGone") {
    const { projectId } = ownership ?? createIntent ?? {};
    const what =
      ownership === undefined
        ? `the open create with token ${createIntent?.token}`
        : `endpoint ${ownership.endpointId}`;
    return [
      warning(
        "ProjectGone",
        "Delete",
        `Project ${projectId} was deleted before, and with it ${what}. Nothing was sent to the control plane.`,
      ),
    ];
  }
  if (abandoned !== undefined) {
    const stalled = conditionOf(conditions, "Stalled");
    const candidates = stalled?.reason === "CreateAmbiguous" ? `${stalled.message.split(". ")[0]}. ` : "";
    return [
      warning(
        "CreateAbandoned",
        "Delete",
        `The operator gave up an open create: an endpoint with token ${abandoned.token} may exist on branch ${abandoned.branchId}. ${candidates}Delete it by hand if no other client needs it.`,
      ),
    ];
  }
  switch (plan.cause) {
    case "Gone":
      return [normal("EndpointDeleted", "Delete", "The endpoint is proven gone.")];
    case "Retained":
      return [normal("EndpointRetained", "Delete", "The operator left the endpoint as it is.")];
    case "NeverCreated":
      return [];
  }
}

function ownershipEvents({ plan, local }: ResourceStep, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const previous = local.resource.status;
  const { ownership } = next;
  if (ownership !== undefined && ownership.endpointId !== previous.ownership?.endpointId) {
    return [ownershipEvent(ownership)];
  }
  return plan === undefined ? [] : rulesOf(plan).events(plan);
}

function ownershipEvent({ origin, endpointId }: NonNullable<ComputeEndpointStatus["ownership"]>): ResourceEvent {
  switch (origin) {
    case "Created":
      return normal("EndpointCreated", "Create", `Created endpoint ${endpointId}.`);
    case "Adopted":
      return normal("EndpointAdopted", "Adopt", `Adopted endpoint ${endpointId}.`);
    case "Presumed":
      return warning(
        "EndpointPresumed",
        "Create",
        `The answer to a create was lost, and endpoint ${endpointId} is probably its result. A deletion retains the endpoint unless spec.deletionPolicy is Delete.`,
      );
  }
}

function conditionEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const events: ResourceEvent[] = [...eventsOfStall(previous.conditions, next.conditions)];
  const credentials = conditionOf(next.conditions, "CredentialsValid");
  if (credentials?.status === "False" && conditionOf(previous.conditions, "CredentialsValid")?.status !== "False") {
    events.push(warning("CredentialsRejected", "Reconcile", credentials.message));
  }
  const isReady = conditionOf(next.conditions, "Ready")?.status === "True";
  if (isReady && conditionOf(previous.conditions, "Ready")?.status !== "True") {
    events.push(normal("EndpointReady", "Reconcile", "The endpoint matches spec."));
  }
  return events;
}

export function eventsOfStall(
  before: readonly Condition[] | undefined,
  next: readonly Condition[] | undefined,
): readonly ResourceEvent[] {
  const stalled = conditionOf(next, "Stalled");
  const isNews = stalled !== undefined && conditionOf(before, "Stalled")?.reason !== stalled.reason;
  return isNews ? [{ type: "Warning", reason: stalled.reason, action: "Reconcile", note: stalled.message }] : [];
}

/** Returns an event if managed fields left spec: the control plane keeps their last values. */
function fieldEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const fields = next.acknowledged?.fields;
  const dropped =
    fields === undefined ? [] : (previous.acknowledged?.fields ?? []).filter((each) => !fields.includes(each));
  return dropped.length === 0
    ? []
    : [
        normal(
          "FieldReleased",
          "Reconcile",
          `The operator no longer manages these fields, and the control plane keeps their last values: ${dropped.map((each) => `spec.${each}`).join(", ")}.`,
        ),
      ];
}
