import { eventsOfStall } from "../decide/events-for.ts";
import type { GrantOf, PlaneProblem } from "../decide/project-grant.ts";
import { normal, type ResourceEvent } from "../domain/resource-store.ts";
import { type ComputeEndpoint, isBeingDeleted, noProject, projectIdOf } from "../resource/compute-endpoint.ts";
import { type ConditionDraft, isTrue, mergeConditions, type PlaneReason, secondsTime } from "../resource/conditions.ts";
import { namespaceOfPlane, type PlaneResource, planeName } from "../resource/control-plane-resource.ts";
import type { ControlPlaneStatus } from "../resource/control-plane-schema.ts";
import type { PlaneError, PlaneState } from "./plane-health.ts";
import type { SecretsSnapshot } from "./secret-key.ts";

export interface PlaneFacts extends PlaneState {
  readonly resource: PlaneResource;
  readonly snapshot: SecretsSnapshot | undefined;
  readonly users: number;
  readonly nowMs: number;
}

export function planeStatus(facts: PlaneFacts): ControlPlaneStatus {
  const { resource, lastError, nowMs } = facts;
  const { generation, status } = resource;
  const error = lastError && {
    reason: lastError.reason,
    message: lastError.message,
    time: secondsTime(lastError.atMs),
  };
  return {
    observedGeneration: generation,
    resources: facts.users,
    ...((error ?? status.lastError) && { lastError: error ?? status.lastError }),
    conditions: mergeConditions(status.conditions, draftsOf(facts), { generation, nowMs }),
  };
}

function draftsOf(facts: PlaneFacts): readonly ConditionDraft[] {
  const { resource, users } = facts;
  const standing = standingOf(facts);
  const waiting = `The deletion waits: ${counted(users)} this control plane. Delete them first, or set their deletionPolicy to Retain and delete them.`;
  return [
    draft("Ready", standing.isReady ? "True" : "False", standing),
    ...(standing.isStalled ? [draft("Stalled", "True", standing)] : []),
    credentialsDraft(facts),
    ...(isBeingDeleted(resource) ? [draft("Reconciling", "True", { reason: "InUse", message: waiting })] : []),
  ];
}

function counted(users: number): string {
  return `${users} ${users === 1 ? "resource uses" : "resources use"}`;
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
  const problem =
    snapshot.problem === undefined
      ? ""
      : ` ${snapshot.problem} The operator uses the last key until the control plane refuses it or the operator restarts.`;
  return { isReady: true, isStalled: false, reason, message: `${message}${problem}` };
}

function outageReason({ reason }: PlaneError): PlaneReason {
  return reason === "Throttled" || reason === "UnreadableAnswer" ? reason : "ServiceUnavailable";
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

/** Events of a ClusterControlPlane are in the namespace `default`, which may be a team's, so they name no Secrets. */
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

/** They have an ownership record or an intent, or they may still change something there. */
export function usersAmong(resources: readonly ComputeEndpoint[], grantOf: GrantOf): readonly ComputeEndpoint[] {
  return resources.filter((resource) => {
    const { ownership, createIntent } = resource.status;
    if ((ownership ?? createIntent) !== undefined) {
      return true;
    }
    return !isBeingDeleted(resource) && grantOf(resource.key.namespace, projectIdOf(resource) ?? noProject).mayChange;
  });
}

const nothingSent = "the operator creates, changes and deletes nothing for this resource";

/** The texts appear in the namespaces of the resources, so they contain nothing of the control plane but its name. */
export const planeProblems = {
  /** At the start, the cluster did not serve the kind, or the operator had no right to list it. */
  kindUnreadable: (kind: PlaneResource["kind"], why: "NotServed" | "Forbidden"): PlaneProblem => ({
    reason: "ControlPlaneNotReady",
    message:
      why === "NotServed"
        ? `The cluster had no kind ${kind} when the operator started. Apply the CustomResourceDefinitions of this version, and restart the operator.`
        : `The operator had no right to list resources of the kind ${kind} when it started. Apply the roles of this version, and restart the operator.`,
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
