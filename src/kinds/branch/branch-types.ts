/** The types of the kind DatabaseBranch, and what a decision about one is made from. */
import type { BranchCreation, BranchList, ObservedBranch } from "../../domain/branch.ts";
import type { Operation } from "../../domain/operation.ts";
import type { Facts, PlanOf, Step } from "../../engine/kind.ts";
import type { OperationsSnapshot } from "../../operations/reader.ts";
import type { DatabaseBranch } from "../../resource/database-branch.ts";
import type { BranchIntent, DatabaseBranchStatus, ResetIntent } from "../../resource/database-branch-schema.ts";
import { ownershipToken } from "../../resource/identity.ts";
import { group } from "../../resource/names.ts";

export type BranchPlan =
  /** Stores the intent if status does not hold it yet, and then sends one POST. */
  | { readonly kind: "CreateBranch"; readonly intent: BranchIntent; readonly creation: BranchCreation }
  | { readonly kind: "RecordBranch"; readonly branch: ObservedBranch }
  | { readonly kind: "ForgetBranch"; readonly branchId: string }
  /** `null`: the branch no longer expires. */
  | { readonly kind: "RenewLease"; readonly branchId: string; readonly expiresTime: string | null }
  | { readonly kind: "ResetBranch"; readonly branchId: string; readonly parentId: string; readonly intent: ResetIntent }
  /** The branch shows that the reset of the intent took effect. */
  | { readonly kind: "RecordReset"; readonly value: string }
  | { readonly kind: "DeleteBranch"; readonly branchId: string }
  | { readonly kind: "Settled" };

export interface BranchTypes {
  readonly resource: DatabaseBranch;
  readonly status: DatabaseBranchStatus;
  readonly plan: BranchPlan;
  readonly own: BranchReads;
  readonly answer: BranchAnswer;
  readonly applied: undefined;
  readonly hint: undefined;
}

export interface BranchAnswer {
  readonly operations: readonly Operation[];
  /** `undefined`: a DELETE found nothing to delete. */
  readonly branch?: ObservedBranch | undefined;
}

export type BranchReads =
  /** The control plane has no calls for branches, or no annotations of them. */
  | { readonly kind: "NotSupported" }
  | {
      readonly kind: "Listed";
      readonly list: BranchList;
      /** The one branch that was read by id. By id is the truth. `branch` is `undefined`: it is proven absent. */
      readonly byId?: { readonly branchId: string; readonly branch: ObservedBranch | undefined };
    };

export type ListedBranches = Extract<BranchReads, { kind: "Listed" }>;
export type Plan = PlanOf<BranchTypes>;
export type BranchFacts = Facts<BranchTypes>;
export type BranchStep = Step<BranchTypes>;

export interface BranchObservation extends BranchFacts {
  readonly projectId: string;
  /** When the reads of this reconcile began, in monotonic milliseconds. */
  readonly startedAtMs: number;
  readonly own: ListedBranches;
  readonly operations: OperationsSnapshot;
}

/** The text of a branch that carries the token of the resource that created it. Absent: another client created it. */
export const ownerAnnotation = `${group}/owner`;

export function ownToken({ resource, identity }: BranchFacts): string {
  return ownershipToken(identity.clusterId, resource.uid);
}

/** The branch of the resource: that of its record, else the listed one with its token. */
export function ownBranchId(facts: BranchFacts, { list }: ListedBranches): string | undefined {
  const token = ownToken(facts);
  const marked = list.branches.find(({ annotation }) => annotation[ownerAnnotation] === token);
  return facts.resource.status.ownership?.branchId ?? marked?.id;
}

export function resetAttempt({ value }: ResetIntent): string {
  return `reset ${value}`;
}
