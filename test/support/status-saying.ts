/** Makes resources whose conditions have a given reason. */
import {
  type AccessProgressReason,
  type AccessStallReason,
  accessProgressReasons,
  accessStallReasons,
  otherReasons,
  type PlaneReason,
  planeReasons,
  progressReasons,
  stallReasons,
  waitReasons,
} from "../../src/resource/conditions.ts";
import type { ComputeEndpointStatus, Condition } from "../../src/resource/status-schema.ts";

/** Every reason of docs/conditions.md. */
export const everyReason = [...otherReasons, ...progressReasons, ...stallReasons];
type ConditionReason = (typeof everyReason)[number];

/** A reason of a DatabaseAccess. */
export type AccessReason = AccessProgressReason | AccessStallReason | "UpToDate";

/** Every reason of a DatabaseAccess in docs/conditions.md. */
export const everyAccessReason: readonly AccessReason[] = ["UpToDate", ...accessProgressReasons, ...accessStallReasons];

/** Every reason of a control plane in docs/conditions.md. */
export const everyPlaneReason: readonly PlaneReason[] = planeReasons;

/** What a control plane waits for, by reason. */
export const planeWaits: Readonly<Record<PlaneReason, "Nothing" | "Operator" | "Person">> = {
  KeyAccepted: "Nothing",
  KeyNotUsedYet: "Nothing",
  InUse: "Operator",
  SecretUnreadable: "Operator",
  ServiceUnavailable: "Operator",
  Throttled: "Operator",
  UnreadableAnswer: "Operator",
  CertificateAuthorityMissing: "Person",
  InvalidSpec: "Person",
  Unauthorized: "Person",
  WriteRefused: "Person",
  SecretForbidden: "Person",
  SecretInvalid: "Person",
  SecretKeyNotFound: "Person",
  SecretNotFound: "Person",
};

const time = "2026-11-20T10:00:00Z";
const generation = 3;

/** Makes a resource as the API server returns it, whose conditions show this reason. */
export function resourceSaying(reason: ConditionReason) {
  return {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ComputeEndpoint",
    metadata: { name: "orders", namespace: "shop", uid: "uid-1", resourceVersion: "7", generation },
    spec: { projectId: "green-fox-123456", branchId: "br-quiet-sun-123456", type: "ReadWrite" },
    status: statusSaying(reason),
  };
}

/** Makes a DatabaseAccess whose conditions show this reason. */
export function accessSaying(reason: AccessReason) {
  return {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "DatabaseAccess",
    metadata: { name: "orders", namespace: "shop", uid: "uid-2", resourceVersion: "7", generation },
    spec: { endpointRef: { name: "orders" }, role: { name: "app" }, database: { name: "app" } },
    status: { observedGeneration: generation, conditions: progress(reason) },
  };
}

/** Makes a ClusterControlPlane whose conditions show this reason. */
export function planeSaying(reason: PlaneReason) {
  const name = { name: "analytics", uid: "uid-3", resourceVersion: "7", generation };
  return {
    apiVersion: "endpoint-operator.dev/v1alpha1",
    kind: "ClusterControlPlane",
    metadata: { ...name, ...(reason === "InUse" && { deletionTimestamp: time }) },
    spec: {
      url: "https://control-plane.example.com/api/v2",
      apiKeySecretRef: { namespace: "platform", name: "key", key: "api-key" },
    },
    status: { observedGeneration: generation, resources: 1, conditions: planeConditions(reason) },
  };
}

function planeConditions(reason: PlaneReason): readonly Condition[] {
  if (reason === "InUse") return [condition("Ready", "True", "KeyAccepted"), condition("Reconciling", "True", reason)];
  const waits = planeWaits[reason];
  const ready = condition("Ready", waits === "Nothing" ? "True" : "False", reason);
  return waits === "Person" ? [ready, condition("Stalled", "True", reason)] : [ready];
}

function statusSaying(reason: ConditionReason): ComputeEndpointStatus {
  const failedActions =
    reason === "OperationFailed" ? [{ action: "start_compute", operationId: "op-9", time, error: "no capacity" }] : [];
  return {
    observedGeneration: generation,
    conditions: [
      ...progress(reason),
      reason === "OperationFailed"
        ? condition("LastOperationSucceeded", "False", reason)
        : condition("LastOperationSucceeded", "True", "NoFailure"),
      reason === "Unauthorized"
        ? condition("CredentialsValid", "False", reason)
        : condition("CredentialsValid", "True", "Accepted"),
      ...beside(reason),
    ],
    ...(failedActions.length > 0 && { failedActions }),
    ...(isPending(reason) && { pendingChange: { fields: [], hash: "3f9a", sinceTime: time } }),
  };
}

/** A condition beside Ready that has this reason; none if it is a reason of others. */
function beside(reason: ConditionReason): readonly Condition[] {
  if (isPending(reason))
    return [condition("ChangePending", "True", reason === "ChangePending" ? "WaitingForIdle" : reason)];
  return isOneOf(comparisons, reason) ? [condition("InSync", reason === "Drift" ? "False" : "Unknown", reason)] : [];
}

function isPending(reason: ConditionReason): boolean {
  return isOneOf([...waitReasons, "ChangePending"], reason);
}

const comparisons = ["Drift", "NotCompared", "NotShown"];

/** The reason that Ready has beside a condition with this reason. */
export function readyReasonOf(reason: ConditionReason): ConditionReason {
  if (isOneOf(waitReasons, reason)) return "ChangePending";
  return isOneOf(["NoFailure", "Accepted", ...comparisons], reason) ? "UpToDate" : reason;
}

function progress(reason: ConditionReason | AccessReason): readonly Condition[] {
  if (reason === "Paused") return [condition("Ready", "Unknown", reason)];
  if (isOneOf([...stallReasons, ...accessStallReasons], reason))
    return [condition("Ready", "False", reason), condition("Stalled", "True", reason)];
  if (isOneOf([...progressReasons, ...accessProgressReasons], reason))
    return [condition("Ready", "False", reason), condition("Reconciling", "True", reason)];
  const ready = isOneOf(otherReasons, reason) ? readyReasonOf(reason as ConditionReason) : "UpToDate";
  return [condition("Ready", "True", ready)];
}

function isOneOf(reasons: readonly string[], reason: string): boolean {
  return reasons.includes(reason);
}

function condition(
  type: string,
  status: Condition["status"],
  reason: ConditionReason | AccessReason | PlaneReason,
): Condition {
  const message = `The message of ${reason}.`;
  return { type, status, reason, message, observedGeneration: generation, lastTransitionTime: time };
}
