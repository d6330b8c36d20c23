/** Computes the status of a DatabaseBranch from the result of one reconcile, and its events. */
import type { ObservedBranch } from "../../domain/branch.ts";
import { normal, type ResourceEvent, warning } from "../../domain/resource-store.ts";
import { isSameStored } from "../../domain/same-stored.ts";
import { ownPlan, type ProjectFacts } from "../../engine/kind.ts";
import {
  commonSummary,
  conditionsAfter,
  handledAfter,
  progressing,
  type Summary,
  unchanged,
  whileDeleting,
  withoutEmpty,
} from "../../engine/summary.ts";
import { branchOperations } from "../../operations/reduce-operations.ts";
import type { DatabaseBranchStatus } from "../../resource/database-branch-schema.ts";
import { planeRecord } from "../../resource/identity.ts";
import { annotations } from "../../resource/names.ts";
import { branchWording, stalls } from "./branch-texts.ts";
import { type BranchPlan, type BranchStep, ownBranchId } from "./branch-types.ts";
import { usableStates } from "./decide-branch.ts";

/** Equal input gives equal status, so a resource at rest causes no write. */
export function branchStatus(context: ProjectFacts, step: BranchStep): DatabaseBranchStatus {
  const { resource } = step.facts;
  const { status } = resource;
  const summary = whileDeleting(
    resource,
    refusedForLimit(step) ?? commonSummary(step, branchWording) ?? ownSummary(step),
    branchWording,
  );
  const records = recordsAfter(context, step);
  const seen = records.ownership === undefined ? {} : branchAfter(step);
  const next = withoutEmpty({
    ...status,
    ...records,
    ...(seen && shownFields(seen)),
    operations: operationsAfter(step, records.ownership?.branchId),
    ...handledAfter(step, summary),
    conditions: conditionsAfter(step.facts, summary),
  });
  // The size changes all the time, and alone it is not worth a write.
  const quiet = withoutEmpty({ ...next, logicalSizeBytes: status.logicalSizeBytes });
  return isSameStored(quiet, withoutEmpty(status)) ? quiet : next;
}

/** The status to store before a create or a reset: what a crash after the request must not lose. */
export function branchNote({ plan, facts: { resource } }: BranchStep): DatabaseBranchStatus | undefined {
  switch (plan?.kind) {
    case "CreateBranch":
      return { ...resource.status, createIntent: plan.intent };
    case "ResetBranch":
      return { ...resource.status, resetIntent: plan.intent };
    default:
      return undefined;
  }
}

const goneText = "Another client deleted the branch. The operator creates another one.";

/** What the conditions say before a plan is sent, and after it was carried out. */
const summaries: Readonly<Record<BranchPlan["kind"], Summary>> = {
  CreateBranch: progressing("Creating", "The operator creates the branch."),
  RecordBranch: progressing("Creating", "The control plane created the branch. The operator waits until it is ready."),
  ForgetBranch: progressing("Creating", goneText),
  RenewLease: unchanged,
  ResetBranch: progressing("Resetting", "The branch gets the data of its parent anew."),
  RecordReset: progressing("Resetting", "The branch gets the data of its parent anew."),
  DeleteBranch: progressing("Deleting", branchWording.deleting),
  Settled: { kind: "Ready", reason: "UpToDate", message: "The branch is ready." },
};

function ownSummary({ plan }: BranchStep): Summary {
  const own = ownPlan<BranchPlan>(plan);
  return own === undefined ? unchanged : summaries[own.kind];
}

/** The limit of a plan ends by no wait, so it is reported at once. @see https://api-docs.neon.tech/reference (read 2026-11-22) */
function refusedForLimit({ plan, outcome }: BranchStep): Summary | undefined {
  const isRefused = outcome.kind === "Failed" && plan?.kind === "CreateBranch" && outcome.error.reason === "Rejected";
  if (!isRefused || !/limit/i.test(outcome.error.message)) {
    return undefined;
  }
  return { ...stalls.limitReached(outcome.error.message), kind: "Stalled" };
}

/** The branch as the step leaves it: from the answer, else from the reads. `undefined`: it was not seen. */
function branchAfter({ facts, reads, plan, outcome }: BranchStep): ObservedBranch | undefined {
  if (outcome.kind === "Accepted") {
    return outcome.answer.branch;
  }
  if (plan?.kind === "RecordBranch") {
    return plan.branch;
  }
  const { own } = reads;
  if (own?.kind !== "Listed") {
    return undefined;
  }
  const branchId = ownBranchId(facts, own);
  return own.byId?.branchId === branchId ? own.byId?.branch : own.list.branches.find(({ id }) => id === branchId);
}

function shownFields(branch: Partial<ObservedBranch>): Partial<DatabaseBranchStatus> {
  const { id: branchId, state, parentId, expiresTime, lastResetTime, logicalSizeBytes } = branch;
  return { branchId, state, parentId, expiresTime, lastResetTime, logicalSizeBytes };
}

function operationsAfter({ facts, reads, outcome }: BranchStep, id: string | undefined) {
  const { branchId, operations } = facts.resource.status;
  const shown = branchId === id ? operations : [];
  if (reads.project === undefined || id === undefined) return shown;
  const answeredIds = outcome.kind === "Accepted" ? outcome.answer.operations.map((each) => each.id) : [];
  return branchOperations(reads.project.operations, { id, answeredIds }, shown);
}

type Records = Pick<DatabaseBranchStatus, "ownership" | "createIntent" | "resetIntent" | "lastHandledResetAt">;

/** Ownership and the open notes after the step. A request of a reset that stands at the record counts as handled. */
function recordsAfter({ identity, projectId }: ProjectFacts, { facts, plan, outcome }: BranchStep): Records {
  const { resource } = facts;
  const { ownership, createIntent, resetIntent, lastHandledResetAt } = resource.status;
  const kept = { ownership, createIntent, resetIntent, lastHandledResetAt };
  const isAccepted = outcome.kind === "Accepted";
  const created = plan?.kind === "CreateBranch" && isAccepted ? outcome.answer.branch : undefined;
  const branch = plan?.kind === "RecordBranch" ? plan.branch : created;
  if (branch !== undefined) {
    const { clusterId } = identity;
    return {
      ownership: { branchId: branch.id, resourceUid: resource.uid, clusterId, ...planeRecord(identity), projectId },
      createIntent: undefined,
      resetIntent: undefined,
      lastHandledResetAt: resource.annotations[annotations.resetRequestedAt],
    };
  }
  switch (plan?.kind) {
    case "ForgetBranch":
      return { ...kept, ownership: undefined, createIntent: undefined, resetIntent: undefined };
    case "RecordReset":
      return { ...kept, resetIntent: undefined, lastHandledResetAt: plan.value };
    case "ResetBranch":
      return isAccepted ? { ...kept, resetIntent: undefined, lastHandledResetAt: plan.intent.value } : kept;
    default:
      return kept;
  }
}

/** @param next the status that was stored; `undefined`: the finalizer goes */
export function branchEvents(step: BranchStep, next: DatabaseBranchStatus | undefined): readonly ResourceEvent[] {
  const { facts, plan, outcome } = step;
  const { status: before, spec } = facts.resource;
  if (next === undefined) {
    return plan?.kind === "RemoveFinalizer" ? releaseEvents(plan.cause, before) : [];
  }
  const id = next.ownership?.branchId;
  const isNew = id !== undefined && id !== before.ownership?.branchId;
  const leaseMs = (spec.kind === "Valid" ? (spec.spec.leaseDurationSeconds ?? 0) : 0) * 1_000;
  const isLate = outcome.kind === "Failed" && Date.parse(next.expiresTime ?? "") - facts.nowMs < leaseMs / 4;
  return [
    ...(isNew ? [normal("BranchCreated", "Create", `Created branch ${id}.`)] : []),
    ...(plan?.kind === "ForgetBranch" ? [warning("BranchGone", "Observe", goneText)] : []),
    ...(!isNew && hasReset(before, next)
      ? [normal("BranchReset", "Update", "The branch got the data of its parent anew, and connections dropped.")]
      : []),
    ...(isLate
      ? [warning("BranchExpiresSoon", "Update", `The lease ends at ${next.expiresTime}, and it could not be renewed.`)]
      : []),
  ];
}

/** Whether a reset that was asked for has ended: an accepted one may still fail. */
function hasReset(before: DatabaseBranchStatus, next: DatabaseBranchStatus): boolean {
  const { lastHandledResetAt: handled, state = "" } = next;
  const isOpen = before.state === "resetting" || before.lastHandledResetAt !== handled;
  return isOpen && handled !== undefined && usableStates.includes(state);
}

function releaseEvents(cause: string, { ownership, createIntent }: DatabaseBranchStatus): readonly ResourceEvent[] {
  const branch = ownership?.branchId ?? `${createIntent?.name}, if it exists`;
  switch (cause) {
    case "Gone":
      return ownership ? [normal("BranchDeleted", "Delete", `Branch ${branch} is proven gone.`)] : [];
    case "Retained":
      return [normal("BranchRetained", "Delete", `The operator left branch ${branch} as it is.`)];
    default:
      return [];
  }
}
