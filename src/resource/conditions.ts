import type { AccessProgressReason, AccessStallReason } from "./access-reasons.ts";
import type { Condition } from "./status-schema.ts";

/** The five condition types. Documented in docs/conditions.md. */
export type ConditionType = "Ready" | "Reconciling" | "Stalled" | "LastOperationSucceeded" | "CredentialsValid";

/** Why a person must act. Each comes with a message that says exactly what to do. */
export const stallReasons = [
  "AdoptionMismatch",
  "AdoptionTargetMissing",
  "BranchNotFound",
  "BranchOccupied",
  "ClaimedByAnother",
  "CreateAmbiguous",
  "DriftPersists",
  "EndpointExists",
  "EndpointGone",
  "Forbidden",
  "IdentityUnproven",
  "InvalidSpec",
  "OwnedElsewhere",
  "OwnershipConflict",
  "ProjectLocked",
  "ProjectNotFound",
  "ProjectNotGranted",
  "Rejected",
] as const;
export type StallReason = (typeof stallReasons)[number];

/** Why work is still going on, or why it cannot go on right now. */
export const progressReasons = [
  "Adopting",
  "Creating",
  "CreateUnresolved",
  "Deleting",
  "Forgetting",
  "Moving",
  "OperationInFlight",
  "Paused",
  "Retrying",
  "ServiceUnavailable",
  "Throttled",
  "Unauthorized",
  "UnreadableAnswer",
  "Updating",
  "WaitingForProject",
] as const;
export type ProgressReason = (typeof progressReasons)[number];

/** Reasons of conditions that say that all is well, and of the two conditions beside Ready. */
export const otherReasons = ["Accepted", "NoFailure", "OperationFailed", "UpToDate"] as const;
export type OtherReason = (typeof otherReasons)[number];

export type ConditionReason = StallReason | ProgressReason | OtherReason;

/** A condition that one reconcile asks for. A type without a draft is removed. */
export interface ConditionDraft {
  readonly type: ConditionType;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: ConditionReason | AccessProgressReason | AccessStallReason;
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
 * Turns drafts into conditions. `lastTransitionTime` moves only when `status` changes; a type without a draft goes.
 *
 * @param context `generation` is the one that this reconcile works on; `nowMs` is epoch milliseconds.
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

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function secondsTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 19)}Z`;
}
