import type { Condition } from "./status-schema.ts";

export const conditionTypes = [
  "Ready",
  "Reconciling",
  "Stalled",
  "LastOperationSucceeded",
  "CredentialsValid",
  "ChangePending",
  "InSync",
] as const;
export type ConditionType = (typeof conditionTypes)[number];

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
  "WriteRefused",
] as const;

/** Stalled reasons: a person must act. Each message says what to do. */
export const stallReasons = [
  ...sharedStallReasons,
  "AdoptionMismatch",
  "AdoptionTargetMissing",
  "BranchMismatch",
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

export const branchStallReasons = [
  ...sharedStallReasons,
  "BranchExists",
  "BranchExpired",
  "BranchFailed",
  "BranchHasChildren",
  "BranchHasNoParent",
  "BranchLimitReached",
  "BranchProtected",
  "BranchesNotSupported",
  "CreateAmbiguous",
  "OwnedElsewhere",
] as const;

/** Reasons for which a control plane of any kind cannot be used at present. */
const unusableReasons = ["ServiceUnavailable", "Throttled", "Unauthorized", "UnreadableAnswer"] as const;

const sharedProgressReasons = [
  ...unusableReasons,
  "Deleting",
  "OperationInFlight",
  "Paused",
  "Retrying",
  "WaitingForProject",
] as const;

export const progressReasons = [
  ...sharedProgressReasons,
  "Adopting",
  "ChangePending",
  "Creating",
  "CreateUnresolved",
  "Forgetting",
  "Moving",
  "Updating",
  "WaitingForBranch",
] as const;
export type ProgressReason = (typeof progressReasons)[number];

export const branchProgressReasons = [...sharedProgressReasons, "Creating", "CreateUnresolved", "Resetting"] as const;

/** What a change that drops connections waits for. */
export const waitReasons = ["WaitingForApproval", "WaitingForIdle", "WaitingForWindow"] as const;
export type WaitReason = (typeof waitReasons)[number];

/** Reasons of Ready and of the conditions beside it that report neither a stall nor work in progress. */
export const otherReasons = [
  ...waitReasons,
  ...(["Accepted", "Drift", "NoFailure", "NotCompared", "NotShown", "Observed", "OperationFailed"] as const),
  "UpToDate",
] as const;
export type OtherReason = (typeof otherReasons)[number];

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
  "WriteRefused",
] as const;
export type PlaneReason = (typeof planeReasons)[number];

/** A condition as one reconcile decides it. `mergeConditions` adds its generation and its time. */
export interface ConditionDraft {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: OtherReason | AnyProgressReason | AnyStallReason | PlaneReason;
  readonly message: string;
}

export function conditionOf(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

export function isTrue(conditions: readonly Condition[] | undefined, type: ConditionType): boolean {
  return conditionOf(conditions, type)?.status === "True";
}

/** `lastTransitionTime` changes only if `status` changes. A type without a draft is removed. */
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

export function secondsTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}

export const accessStallReasons = [
  ...sharedStallReasons,
  "ConfigurationFailed",
  "DatabaseNotFound",
  "DatabaseOwnedByAnother",
  "PasswordMissing",
  "PasswordUnavailable",
  "RoleInUse",
  "RoleNotFound",
  "SecretExists",
  "SecretRefused",
  "SecretsForbidden",
] as const;
export type AccessStallReason = (typeof accessStallReasons)[number];

export const accessProgressReasons = [
  ...sharedProgressReasons,
  "CreatingDatabase",
  "CreatingRole",
  "EndpointNotFound",
  "WaitingForBranch",
  "WaitingForEndpoint",
] as const;
export type AccessProgressReason = (typeof accessProgressReasons)[number];

/** Of every kind that is reconciled with its project. */
export type AnyStallReason = StallReason | AccessStallReason | (typeof branchStallReasons)[number];
export type AnyProgressReason = ProgressReason | AccessProgressReason | (typeof branchProgressReasons)[number];
