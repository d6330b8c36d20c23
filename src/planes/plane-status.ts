/** Computes the status and the events of a control plane that a resource describes. */

import { eventsOfStall } from "../decide/events-for.ts";
import { retainsEndpoint } from "../decide/plan-resource.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import { normal, type ResourceEvent, type ResourceKey } from "../domain/resource-store.ts";
import {
  type ComputeEndpoint,
  hasFinalizer,
  isBeingDeleted,
  noProject,
  projectIdOf,
} from "../resource/compute-endpoint.ts";
import { type ConditionDraft, isTrue, mergeConditions, type PlaneReason, secondsTime } from "../resource/conditions.ts";
import { namespaceOfPlane, type PlaneResource, planeName } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import type { PlaneError, PlaneState } from "./plane-health.ts";
import { type SecretsSnapshot, secretName } from "./plane-key.ts";

/** The facts from which the status is computed. */
export interface PlaneFacts extends PlaneState {
  readonly resource: PlaneResource;
  readonly snapshot: SecretsSnapshot | undefined;
  readonly users: PlaneUsers;
  readonly heldSecrets: readonly ResourceKey[];
  /** Why a finalizer could not be removed from a Secret; `undefined`: there is no problem. */
  readonly releaseProblem: string | undefined;
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
  const waiting = users.isComplete
    ? `The deletion waits: ${counted(users.count)} this control plane. Delete them first, or set their deletionPolicy to Retain and delete them.`
    : "The deletion waits: the operator has not listed the DatabaseAccesses yet, so it does not know which resources use this control plane.";
  return [
    draft("Ready", standing.isReady ? "True" : "False", standing),
    ...(standing.isStalled ? [draft("Stalled", "True", standing)] : []),
    credentialsDraft(facts),
    ...(isBeingDeleted(resource)
      ? [draft("Reconciling", "True", { reason: "InUse", message: releaseProblem ?? waiting })]
      : []),
  ];
}

function counted(users: number): string {
  return `${users} ${users === 1 ? "resource uses" : "resources use"}`;
}

/**
 * Returns the number of users for status. Until all resources are listed, it is at least the number that status shows.
 */
function shownUsers({ resource: { status }, users: { count, isComplete } }: PlaneFacts): number {
  return isComplete ? count : Math.max(count, status.resources ?? 0);
}

interface Reported {
  readonly reason: PlaneReason;
  readonly message: string;
}

interface Standing extends Reported {
  readonly isReady: boolean;
  readonly isStalled: boolean;
}

const keyRefused: Reported = {
  reason: "Unauthorized",
  message:
    "The control plane does not accept the API key (401). Replace the key in its Secret; the operator reads it again by itself.",
};
const keyAccepted: Reported = { reason: "KeyAccepted", message: "The control plane accepts the API key." };
const keyNotUsedYet: Reported = {
  reason: "KeyNotUsedYet",
  message: "The API key can be read. No resource has used the control plane yet.",
};

/** Returns the first problem that prevents the use of the control plane, or that there is none. */
function standingOf(facts: PlaneFacts): Standing {
  const { resource, snapshot, credentials, currentError } = facts;
  const stalled = ({ reason, message }: Reported) => ({ isReady: false, isStalled: true, reason, message });
  const waiting = (reason: PlaneReason, why: string) => {
    const message = `${why}. The operator tries again.`;
    return { isReady: false, isStalled: false, reason, message };
  };
  if (resource.spec.kind === "Invalid") {
    const message = `The stored spec is not valid: ${resource.spec.problems}. Apply a corrected spec.`;
    return stalled({ reason: "InvalidSpec", message });
  }
  if (snapshot === undefined || snapshot.kind === "Unanswered") {
    return waiting("SecretUnreadable", snapshot?.message ?? "The Secret has not been read");
  }
  if (snapshot.kind === "Refused") {
    return stalled(snapshot);
  }
  if (credentials === "Refused") {
    return stalled(keyRefused);
  }
  if (currentError !== undefined) {
    return waiting(outageReason(currentError), currentError.message);
  }
  const { reason, message } = credentials === "Accepted" ? keyAccepted : keyNotUsedYet;
  const users = shownUsers(facts);
  const { isBeingDeleted: isSecretGoing, key } = snapshot.secret;
  const kept =
    isSecretGoing && users > 0
      ? ` ${secretName(key)} is being deleted. The operator keeps it while ${counted(users)} this control plane.`
      : "";
  return { isReady: true, isStalled: false, reason, message: `${message}${kept}` };
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

function credentialsDraft({ credentials, snapshot }: PlaneFacts): ConditionDraft {
  if (snapshot?.kind === "Refused") {
    return draft("CredentialsValid", "False", snapshot);
  }
  switch (credentials) {
    case "Refused":
      return draft("CredentialsValid", "False", keyRefused);
    case "Accepted":
      return draft("CredentialsValid", "True", keyAccepted);
    default:
      return draft("CredentialsValid", "Unknown", keyNotUsedYet);
  }
}

function draft(
  type: ConditionDraft["type"],
  status: ConditionDraft["status"],
  { reason, message }: Reported,
): ConditionDraft {
  return { type, status, reason, message };
}

/**
 * Returns the events after a status was stored. Each event reports a transition: the control plane became Stalled, or
 * it became Ready. Pure.
 * Kubernetes keeps the events of a ClusterControlPlane in the namespace `default`. That namespace may belong to a team,
 * so these events do not name Secrets of other namespaces.
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
 * Returns the ComputeEndpoints that need a control plane: they have an ownership record or an intent, their records
 * cannot be read, or they may still change something there.
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

const nothingSent = "the operator creates, changes and deletes nothing for this resource";

/**
 * Why the resources that name a control plane cannot use it. The texts appear in the namespaces of these resources, so
 * they contain nothing of the control plane but its name.
 */
export const planeProblems = {
  /** The cluster does not serve the kind, or the operator may not read it. */
  kindUnreadable: (kind: PlaneResource["kind"], why: "NotServed" | "Forbidden"): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message:
      why === "NotServed"
        ? `The cluster has no kind ${kind}. Apply the CustomResourceDefinitions of this version of the operator.`
        : `The operator may not read resources of the kind ${kind}. Apply the roles of this version of the operator.`,
  }),
  refUnreadable: {
    reason: "ControlPlaneNotFound",
    message: `spec.controlPlaneRef cannot be read, so ${nothingSent}. Set its kind to ControlPlane or ClusterControlPlane, and its name to that of an existing one.`,
  },
  notFound(planeId: string): PlaneProblem {
    const namespace = namespaceOfPlane(planeId);
    const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
    const message = `There is no ${planeName(planeId)}${where}, so ${nothingSent}. Create it, or delete this resource with spec.deletionPolicy Retain.`;
    return { reason: "ControlPlaneNotFound", message };
  },
  notReady: (planeId: string): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message: `${planeName(planeId)} cannot be used: its spec or its API key is not usable. Its condition Ready says what to do. Until then ${nothingSent}.`,
  }),
} as const;
