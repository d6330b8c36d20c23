import type { ResourceEvent } from "../domain/event-recorder.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import type { Pass } from "./pass.ts";
import type { Plan } from "./plan.ts";

const noteLimit = 1024;

/**
 * The events of a pass, published once its status is stored. They tell transitions only, so a settled resource has none.
 *
 * @param next the status that was stored.
 */
export function eventsFor(pass: Pass, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const previous = pass.local.resource.status;
  return [
    ...ownershipEvents(pass, next),
    ...operationEvents(previous, next),
    ...conditionEvents(previous, next),
    ...fieldEvents(previous, next),
  ].map((event) => ({ ...event, note: event.note.slice(0, noteLimit) }));
}

/** What has to be said before a change: afterwards it may be too late to understand a dropped connection. */
export function eventsBefore(plan: Plan): readonly ResourceEvent[] {
  if (plan.kind !== "UpdateEndpoint" || !plan.restarts) {
    return [];
  }
  const note = "The size changes: the compute restarts and drops its connections.";
  return [{ ...warning("EndpointRestarting", "Update", note), isAhead: true }];
}

/** What is said when the finalizer goes; afterwards there is no resource to say it of. */
export function releaseEvents(plan: Extract<Plan, { kind: "RemoveFinalizer" }>): readonly ResourceEvent[] {
  const { abandoned } = plan;
  if (abandoned !== undefined) {
    const suspects = (abandoned.suspectIds ?? []).join(", ") || "none seen so far";
    return [
      warning(
        "CreateAbandoned",
        "Delete",
        `An unresolved create was given up: an endpoint with token ${abandoned.token} may exist on branch ${abandoned.branchId}. Candidates: ${suspects}.`,
      ),
    ];
  }
  switch (plan.cause) {
    case "Gone":
      return [normal("EndpointDeleted", "Delete", "The endpoint is proven gone.")];
    case "Retained":
      return [normal("EndpointRetained", "Delete", "The endpoint was left as it is.")];
    case "NeverCreated":
      return [];
  }
}

function ownershipEvents({ plan, local, outcome }: Pass, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const previous = local.resource.status;
  const { ownership } = next;
  if (ownership !== undefined && ownership.endpointId !== previous.ownership?.endpointId) {
    return [ownershipEvent(ownership)];
  }
  if (plan?.kind === "ForgetEndpoint") {
    return [
      warning("EndpointGone", "Observe", `Endpoint ${plan.endpointId} was deleted by another hand; creating another.`),
    ];
  }
  if (plan?.kind === "CloseIntent" && plan.cause === "Abandoned") {
    return [warning("CreateAbandoned", "Create", "An unresolved create was given up, as the annotation asks.")];
  }
  return plan?.kind === "DeleteEndpoint" && plan.cause === "Duplicate" && outcome.kind === "Accepted"
    ? [
        warning(
          "DuplicateDeleted",
          "Delete",
          `Deleted ${plan.endpointId}, a second endpoint with this resource's token.`,
        ),
      ]
    : [];
}

function ownershipEvent({ origin, endpointId }: NonNullable<ComputeEndpointStatus["ownership"]>): ResourceEvent {
  switch (origin) {
    case "Created":
      return normal("EndpointCreated", "Create", `Created endpoint ${endpointId}.`);
    case "Adopted":
      return normal("EndpointAdopted", "Adopt", `Took over endpoint ${endpointId}.`);
    case "Presumed":
      return warning(
        "EndpointPresumed",
        "Create",
        `The answer to a create was lost; endpoint ${endpointId} must be what it made. It is retained on deletion unless spec.deletionPolicy says Delete.`,
      );
  }
}

function operationEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const known = new Set((previous.failedActions ?? []).map(({ operationId }) => operationId));
  return (next.failedActions ?? [])
    .filter(({ operationId }) => !known.has(operationId))
    .map(({ action, operationId, error }) => {
      const said = error === undefined ? "" : `: ${error}`;
      return warning("OperationFailed", "Observe", `Operation ${action} (${operationId}) failed${said}`);
    });
}

function conditionEvents(previous: ComputeEndpointStatus, next: ComputeEndpointStatus): readonly ResourceEvent[] {
  const events: ResourceEvent[] = [];
  const stalled = conditionOf(next.conditions, "Stalled");
  if (stalled !== undefined && stalled.reason !== conditionOf(previous.conditions, "Stalled")?.reason) {
    events.push(warning(stalled.reason, "Reconcile", stalled.message));
  }
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

/** A field that left spec keeps the service's last value, which surprises people unless it is said. */
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
          `No longer managed, the service keeps its last value: ${dropped.map((each) => `spec.${each}`).join(", ")}.`,
        ),
      ];
}

function normal(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Normal", reason, action, note };
}

function warning(reason: string, action: string, note: string): ResourceEvent {
  return { type: "Warning", reason, action, note };
}
