/** Computes the status and the events of a control plane that a resource describes. */

import { eventsOfStall } from "../decide/events-for.ts";
import { retainsEndpoint } from "../decide/plan-resource.ts";
import type { GrantOf } from "../decide/project-grant.ts";
import { normal, type ResourceEvent, type ResourceKey } from "../domain/resource-store.ts";
import {
  type ComputeEndpoint,
  hasFinalizer,
  isBeingDeleted,
  noProject,
  projectIdOf,
} from "../resource/compute-endpoint.ts";
import { type ConditionDraft, isTrue, mergeConditions, type PlaneReason, secondsTime } from "../resource/conditions.ts";
import type { PlaneResource } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import * as messages from "./messages.ts";
import type { PlaneError } from "./plane-health.ts";
import type { SecretsReading } from "./plane-key.ts";

/** The facts from which the status is computed. */
export interface PlaneFacts {
  readonly resource: PlaneResource;
  readonly reading: SecretsReading | undefined;
  readonly credentials: "Accepted" | "Refused" | undefined;
  readonly currentError: PlaneError | undefined;
  readonly lastError: PlaneError | undefined;
  /** The number of resources that use the control plane. */
  readonly users: PlaneUsers;
  readonly heldSecrets: readonly ResourceKey[];
  /** Why a finalizer could not be removed from a Secret; `undefined`: there is no problem. */
  readonly releaseProblem: string | undefined;
  /** The time of the status, in epoch milliseconds. */
  readonly nowMs: number;
}

/** Returns the status. Pure: equal facts give equal status. */
export function planeStatus(facts: PlaneFacts): ControlPlaneStatus {
  const { resource, heldSecrets, lastError, nowMs } = facts;
  const { generation, status } = resource;
  const error = lastError && {
    reason: lastError.reason,
    message: lastError.message,
    time: secondsTime(lastError.atMs),
  };
  return {
    observedGeneration: generation,
    resources: shownUsers(facts),
    ...((error ?? status.lastError) && { lastError: error ?? status.lastError }),
    ...(heldSecrets.length > 0 && { heldSecrets: [...heldSecrets] }),
    conditions: mergeConditions(status.conditions, draftsOf(facts), { generation, nowMs }),
  };
}

function draftsOf(facts: PlaneFacts): readonly ConditionDraft[] {
  const { resource, users, releaseProblem } = facts;
  const standing = standingOf(facts);
  const credentials = credentialsDraft(facts);
  const drafts = [
    draft("Ready", standing.isReady ? "True" : "False", standing),
    ...(standing.isStalled ? [draft("Stalled", "True", standing)] : []),
    ...(credentials === undefined ? [] : [credentials]),
  ];
  if (!isBeingDeleted(resource)) {
    return drafts;
  }
  const waiting = users.isComplete ? messages.inUse(users.count) : messages.usersUnknown;
  const message = releaseProblem ?? waiting;
  return [...drafts, draft("Reconciling", "True", { reason: "InUse", message })];
}

/** Until all resources are listed, status shows at least the former number. */
function shownUsers({ resource: { status }, users: { count, isComplete } }: PlaneFacts): number {
  return isComplete ? count : Math.max(count, status.resources ?? 0);
}

interface Standing {
  readonly isReady: boolean;
  /** Whether a person must act. */
  readonly isStalled: boolean;
  readonly reason: PlaneReason;
  readonly message: string;
}

/** Returns the first problem that prevents the use of the control plane; without a problem, that it is usable. */
function standingOf(facts: PlaneFacts): Standing {
  const { resource, reading, credentials, currentError } = facts;
  if (resource.spec.kind === "Invalid") {
    const message = `The stored spec is not valid: ${resource.spec.problems}. Apply a corrected spec.`;
    return { isReady: false, isStalled: true, reason: "InvalidSpec", message };
  }
  if (reading === undefined || reading.kind === "Unanswered") {
    const message = messages.secretUnreadable(reading?.message ?? "The Secret has not been read");
    return { isReady: false, isStalled: false, reason: "SecretUnreadable", message };
  }
  if (reading.kind === "Refused") {
    return { isReady: false, isStalled: true, reason: reading.reason, message: reading.message };
  }
  if (credentials === "Refused") {
    return { isReady: false, isStalled: true, reason: "Unauthorized", message: messages.unauthorized };
  }
  if (currentError !== undefined) {
    const message = `${currentError.message}. The operator tries again.`;
    return { isReady: false, isStalled: false, reason: outageReason(currentError), message };
  }
  const users = shownUsers(facts);
  const kept = reading.secret.isBeingDeleted && users > 0 ? ` ${messages.keyIsKept(reading.secret.key, users)}` : "";
  return credentials === "Accepted"
    ? { isReady: true, isStalled: false, reason: "KeyAccepted", message: `${messages.keyAccepted}${kept}` }
    : { isReady: true, isStalled: false, reason: "KeyNotUsedYet", message: `${messages.keyNotUsedYet}${kept}` };
}

function outageReason({ reason }: PlaneError): PlaneReason {
  switch (reason) {
    case "Throttled":
    case "UnreadableAnswer":
      return reason;
    default:
      return "ServiceUnavailable";
  }
}

function credentialsDraft({ credentials, reading }: PlaneFacts): ConditionDraft | undefined {
  if (reading?.kind === "Refused") {
    return draft("CredentialsValid", "False", reading);
  }
  switch (credentials) {
    case "Refused":
      return draft("CredentialsValid", "False", { reason: "Unauthorized", message: messages.unauthorized });
    case "Accepted":
      return draft("CredentialsValid", "True", { reason: "KeyAccepted", message: messages.keyAccepted });
    default:
      return draft("CredentialsValid", "Unknown", { reason: "KeyNotUsedYet", message: messages.keyNotUsedYet });
  }
}

function draft(
  type: ConditionDraft["type"],
  status: ConditionDraft["status"],
  { reason, message }: { readonly reason: PlaneReason; readonly message: string },
): ConditionDraft {
  return { type, status, reason, message };
}

/**
 * Returns the events after a status was stored. Each event reports a transition: the control plane became Stalled, or it
 * became Ready. Pure.
 *
 * Kubernetes keeps the events of a ClusterControlPlane in the namespace `default`. That namespace may belong to a team, so
 * they do not name Secrets of other namespaces.
 */
export function planeEvents(
  { kind, status: before }: Pick<PlaneResource, "kind" | "status">,
  next: ControlPlaneStatus,
): readonly ResourceEvent[] {
  const stalls = eventsOfStall(before.conditions, next.conditions);
  const shown = kind === "ControlPlane" ? stalls : stalls.map((event) => ({ ...event, note: elsewhere }));
  const isNewlyReady = isTrue(next.conditions, "Ready") && !isTrue(before.conditions, "Ready");
  const ready = normal("ControlPlaneReady", "Reconcile", "The operator can use the control plane.");
  return [...shown, ...(isNewlyReady ? [ready] : [])];
}

const elsewhere = "The control plane cannot be used. The condition Ready of the ClusterControlPlane says what to do.";

/** How many resources need a control plane, as far as the operator can count them. */
export interface PlaneUsers {
  readonly count: number;
  /** False: a kind of resources is not listed yet, so there may be more of them. */
  readonly isComplete: boolean;
}

/** Whether it is certain that no resource needs the control plane. */
export function isUnused({ count, isComplete }: PlaneUsers): boolean {
  return count === 0 && isComplete;
}

/**
 * Returns the ComputeEndpoints that have something in a control plane, or that may create or search something there.
 */
export function usersAmong(resources: readonly ComputeEndpoint[], grantOf: GrantOf): readonly ComputeEndpoint[] {
  return resources.filter((resource) => {
    const { ownership, createIntent } = resource.status;
    if ((ownership ?? createIntent) !== undefined || !resource.isOwnershipReadable) {
      return true;
    }
    return isBeingDeleted(resource)
      ? hasFinalizer(resource) && !retainsEndpoint(resource)
      : grantOf(resource.key.namespace, projectIdOf(resource) ?? noProject).mayChange;
  });
}
