/** Computes the Kubernetes events that report what a reconcile did for one resource. */
import { normal, type ResourceEvent, warning } from "../../domain/resource-store.ts";
import type { ReleaseCause } from "../../engine/kind.ts";
import { acknowledgedIn } from "../../resource/bookkeeping.ts";
import { conditionOf } from "../../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../../resource/status-schema.ts";
import { type EndpointStep, rulingIn } from "./plan.ts";
import { endpointPlan, rulesOf } from "./plan-table.ts";

/**
 * Each event reports a transition, so a resource at rest has none.
 * @param next the status that was stored; `undefined`: the finalizer goes
 */
export function eventsFor(step: EndpointStep, next: ComputeEndpointStatus | undefined): readonly ResourceEvent[] {
  const { plan, facts } = step;
  const previous = facts.resource.status;
  if (next === undefined) {
    return plan?.kind === "RemoveFinalizer" ? releaseEvents(plan.cause, previous) : [];
  }
  return [
    ...ownershipEvents(step, next),
    ...conditionEvents(previous, next),
    ...fieldEvents(previous, next),
    ...waitEvents(step, next),
    ...ignoredEvents(step, next),
  ];
}

/** Begin and end of a wait, and a window that closed before the change was sent. */
function waitEvents({ facts, plan, outcome }: EndpointStep, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const { pendingChange: before, conditions } = facts.resource.status;
  const { pendingChange: after } = next;
  if (before !== undefined && after === undefined) {
    const note = `The wait of ${before.fields.map(({ field }) => field).join(" and ")} is over.`;
    return [normal(outcome.kind === "Accepted" ? "ChangeSent" : "ChangeWithdrawn", "Update", note)];
  }
  const { wait } = rulingIn(plan) ?? {};
  const known = conditionOf(conditions, "ChangePending");
  if (wait === undefined || after === undefined) {
    return [];
  }
  if (before?.hash !== after.hash) {
    const { isEndless, message } = wait;
    return [isEndless ? warning("CannotBecomeIdle", "Update", message) : normal("ChangeHeld", "Update", message)];
  }
  // Inside of a window there is no next time.
  const wasDue = before.nextTime === undefined || Date.parse(before.nextTime) <= facts.nowMs;
  const wasForWindow = known === undefined || known.reason === "WaitingForWindow";
  return wait.reason === "WaitingForWindow" && wasForWindow && wasDue
    ? [warning("WindowMissed", "Update", `A window closed before this was sent. ${wait.message}`)]
    : [];
}

/** Returns the events that are published before the finalizer is removed, because the resource is gone afterwards. */
export function releaseEvents(
  cause: ReleaseCause,
  { conditions, createIntent }: ComputeEndpointStatus,
): readonly ResourceEvent[] {
  if (createIntent !== undefined) {
    const stalled = conditionOf(conditions, "Stalled");
    const candidates = stalled?.reason === "CreateAmbiguous" ? `${stalled.message.split(". ")[0]}. ` : "";
    const { token, branchId } = createIntent;
    const note = `The operator gave up a create without a result: an endpoint with token ${token} may exist on branch ${branchId}. ${candidates}Delete it by hand if no other client needs it.`;
    return [warning("CreateAbandoned", "Delete", note)];
  }
  switch (cause) {
    case "Gone":
      return [normal("EndpointDeleted", "Delete", "The endpoint is proven gone.")];
    case "Retained":
      return [normal("EndpointRetained", "Delete", "The operator left the endpoint as it is.")];
    default:
      return [];
  }
}

export function branchGone(name: string): ResourceEvent {
  const note = `deletionPolicy Retain keeps the endpoint as long as its branch, and DatabaseBranch ${name} is gone or being deleted.`;
  return warning("BranchGone", "Delete", note);
}

function ownershipEvents({ plan: given, facts }: EndpointStep, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const previous = facts.resource.status;
  const plan = endpointPlan(given);
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
    case "Presumed": {
      const note = `The answer to a create was lost, and endpoint ${endpointId} is probably its result. A deletion retains the endpoint unless spec.deletionPolicy is Delete.`;
      return warning("EndpointPresumed", "Create", note);
    }
  }
}

function conditionEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const events: ResourceEvent[] = [];
  const credentials = conditionOf(next.conditions, "CredentialsValid");
  if (credentials?.status === "False" && conditionOf(previous.conditions, "CredentialsValid")?.status !== "False") {
    events.push(warning("CredentialsRejected", "Reconcile", credentials.message));
  }
  const ready = conditionOf(next.conditions, "Ready");
  if (ready?.status === "True" && conditionOf(previous.conditions, "Ready")?.status !== "True") {
    events.push(normal("EndpointReady", "Reconcile", ready.message));
  }
  return events;
}

/** Reports once what an observed resource asks for in vain. */
function ignoredEvents({ plan, facts }: EndpointStep, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const { message = "" } = conditionOf(next.conditions, "Ready") ?? {};
  const isKnown = conditionOf(facts.resource.status.conditions, "Ready")?.message === message;
  const isNews = plan?.kind === "Observe" && plan.ignored.length > 0 && !isKnown;
  return isNews ? [warning("FieldsIgnored", "Observe", message)] : [];
}

/** Returns an event if managed fields left spec: the control plane keeps their last values. */
function fieldEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const fields = acknowledgedIn(next)?.fields;
  const before = acknowledgedIn(previous)?.fields ?? [];
  const dropped = fields === undefined ? [] : before.filter((each) => !fields.includes(each));
  const names = dropped.map((each) => `spec.${each}`).join(", ");
  const note = `The operator no longer manages these fields, and the control plane keeps their last values: ${names}.`;
  return dropped.length === 0 ? [] : [normal("FieldReleased", "Reconcile", note)];
}
