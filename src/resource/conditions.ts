/** The conditions of all kinds: their types, reasons, and how they are merged. */
import type { Condition } from "./status-schema.ts";

/** The five condition types. docs/conditions.md describes them. */
export const conditionTypes = [
  "Ready",
  "Reconciling",
  "Stalled",
  "LastOperationSucceeded",
  "CredentialsValid",
] as const;
export type ConditionType = (typeof conditionTypes)[number];

/** Stalled reasons that ComputeEndpoint and DatabaseAccess share. */
const sharedStallReasons = [
  "BranchNotFound",
  "ControlPlaneNotFound",
  "ControlPlaneNotReady",
  "Forbidden",
  "IdentityUnproven",
  "InvalidSpec",
  "ProjectLocked",
  "ProjectNotFound",
  "ProjectNotGranted",
  "Rejected",
] as const;

/** Stalled reasons: a person must act. Each message says what to do. */
export const stallReasons = [
  ...sharedStallReasons,
  "AdoptionMismatch",
  "AdoptionTargetMissing",
  "BranchOccupied",
  "ClaimedByAnother",
  "CreateAmbiguous",
  "DriftPersists",
  "EndpointExists",
  "EndpointGone",
  "OwnedElsewhere",
  "OwnershipConflict",
] as const;
export type StallReason = (typeof stallReasons)[number];

/** The Stalled reasons of resources whose control plane does not exist or cannot be used. */
export type PlaneStallReason = Extract<StallReason, "ControlPlaneNotFound" | "ControlPlaneNotReady">;

/** Reasons for which a control plane of any kind cannot be used at present. */
const unusableReasons = ["ServiceUnavailable", "Throttled", "Unauthorized", "UnreadableAnswer"] as const;

/** Reasons that ComputeEndpoint and DatabaseAccess share: work is in progress, or cannot go on at present. */
const sharedProgressReasons = [
  ...unusableReasons,
  "Deleting",
  "OperationInFlight",
  "Paused",
  "Retrying",
  "WaitingForProject",
] as const;

/** Reasons of a ComputeEndpoint: work is in progress, or cannot go on at present. */
export const progressReasons = [
  ...sharedProgressReasons,
  "Adopting",
  "Creating",
  "CreateUnresolved",
  "Forgetting",
  "Moving",
  "Updating",
] as const;
export type ProgressReason = (typeof progressReasons)[number];

/**
 * Reasons of conditions that report neither a stall nor work in progress: UpToDate of Ready, NoFailure and
 * OperationFailed of LastOperationSucceeded, and Accepted of CredentialsValid, while it is True.
 */
export const otherReasons = ["Accepted", "NoFailure", "OperationFailed", "UpToDate"] as const;
export type OtherReason = (typeof otherReasons)[number];

export type ConditionReason = StallReason | ProgressReason | OtherReason;

/** The reasons of a control plane's conditions. */
export const planeReasons = [
  ...unusableReasons,
  "CertificateAuthorityMissing",
  "InUse",
  "InvalidSpec",
  "KeyAccepted",
  "KeyNotUsedYet",
  "SecretForbidden",
  "SecretInvalid",
  "SecretKeyNotFound",
  "SecretNotFound",
  "SecretUnreadable",
] as const;
export type PlaneReason = (typeof planeReasons)[number];

/** A condition as one reconcile decides it. `mergeConditions` adds its generation and its time. */
export interface ConditionDraft {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: ConditionReason | AccessProgressReason | AccessStallReason | PlaneReason;
  readonly message: string;
}

/** Finds a condition by type. */
export function conditionOf(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether a condition is present and True. */
export function isTrue(conditions: readonly Condition[] | undefined, type: ConditionType): boolean {
  return conditionOf(conditions, type)?.status === "True";
}

/**
 * Merges drafts into the stored conditions. `lastTransitionTime` changes only if `status` changes. A type without a
 * draft is removed.
 * @param context `generation`: the generation that this reconcile works on; `nowMs`: epoch milliseconds.
 */
export function mergeConditions(
  previous: readonly Condition[] | undefined,
  drafts: readonly ConditionDraft[],
  context: { readonly generation: number; readonly nowMs: number },
): Condition[] {
  return drafts.map((draft) => {
    const before = conditionOf(previous, draft.type);
    const lastTransitionTime = before?.status === draft.status ? before.lastTransitionTime : secondsTime(context.nowMs);
    return { ...draft, observedGeneration: context.generation, lastTransitionTime };
  });
}

/** Formats a time as RFC 3339 in whole seconds, as Kubernetes does. */
export function secondsTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

/** Stalled reasons of a DatabaseAccess: a person must act. Each message says what to do. */
export const accessStallReasons = [
  ...sharedStallReasons,
  "DatabaseNotFound",
  "DatabaseOwnedByAnother",
  "PasswordMissing",
  "PasswordUnavailable",
  "RoleInUse",
  "RoleNotFound",
  "SecretExists",
  "SecretsForbidden",
] as const;
export type AccessStallReason = (typeof accessStallReasons)[number];

/** Reasons of a DatabaseAccess: work is in progress, or cannot go on at present. */
export const accessProgressReasons = [
  ...sharedProgressReasons,
  "CreatingDatabase",
  "CreatingRole",
  "EndpointNotFound",
  "WaitingForEndpoint",
] as const;
export type AccessProgressReason = (typeof accessProgressReasons)[number];
