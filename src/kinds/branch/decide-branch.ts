/** Decides about one DatabaseBranch: what to read next, and what follows: its create, its lease, its reset, its end. */
import type { ObservedBranch } from "../../domain/branch.ts";
import { outcomeOf } from "../../domain/operation.ts";
import { invalidSpec, paused } from "../../engine/decision.ts";
import { type ProjectFacts, type Reads, wait } from "../../engine/kind.ts";
import { branchOperations } from "../../operations/reduce-operations.ts";
import { secondsTime } from "../../resource/conditions.ts";
import type { DatabaseBranchSpec } from "../../resource/database-branch-schema.ts";
import { annotations } from "../../resource/names.ts";
import { isBeingDeleted, isPaused } from "../../resource/stored-object.ts";
import { stalls } from "./branch-texts.ts";
import {
  type BranchFacts,
  type BranchObservation,
  type BranchTypes,
  ownBranchId,
  type Plan,
  resetAttempt,
} from "./branch-types.ts";
import { planCreate, planUnresolved, settleLeftMs } from "./plan-create.ts";

/** The states in which a branch can be used. An archived one is only slower at its first use. */
export const usableStates: readonly string[] = ["ready", "archived"];

const lookOwn: Plan = { kind: "Look", at: "Own" };

/** Pure. Guarantees: a branch is changed or deleted only after a read by id, and created only under a stored intent. */
export function decideBranch({ projectId }: ProjectFacts, facts: BranchFacts, reads: Reads<BranchTypes>): Plan {
  const { resource, memory } = facts;
  const { ownership } = resource.status;
  const answered = memory.posts?.answer?.branch;
  if (answered !== undefined && ownership === undefined) {
    return { kind: "RecordBranch", branch: answered };
  }
  const { own, project } = reads;
  if (project?.snapshot === undefined) {
    return { kind: "Look", at: "Project" };
  }
  if (own === undefined) {
    return lookOwn;
  }
  if (own.kind === "NotSupported") {
    return stalls.notSupported(resource);
  }
  const { operations } = project;
  const observation = { ...facts, projectId, own, operations, startedAtMs: project.snapshot.startedAtMs };
  const branchId = ownBranchId(facts, own);
  if (isBeingDeleted(resource)) {
    return planDeletion(observation, branchId);
  }
  if (resource.spec.kind === "Invalid") {
    return invalidSpec(resource.spec.problems);
  }
  const { spec } = resource.spec;
  if (ownership !== undefined) {
    return planOwned(observation, spec, ownership.branchId);
  }
  if (isPaused(resource)) {
    return paused;
  }
  // The answer to its create or its status was lost: the branch carries the resource's token.
  if (branchId !== undefined && own.byId?.branchId !== branchId) {
    return lookOwn;
  }
  const branch = own.byId?.branch;
  return branch ? { kind: "RecordBranch", branch } : (planUnresolved(observation) ?? planCreate(observation, spec));
}

function planOwned(observation: BranchObservation, spec: DatabaseBranchSpec, branchId: string): Plan {
  const { own, resource } = observation;
  const isRead = own.byId?.branchId === branchId;
  const branch = isRead ? own.byId?.branch : own.list.branches.find(({ id }) => id === branchId);
  if (branch === undefined) {
    return isRead ? planGone(observation, branchId) : lookOwn;
  }
  const renewal = planLease(spec, branch, observation.nowMs);
  const step = renewal ?? (isPaused(resource) ? undefined : planReset(observation, branch));
  if (step !== undefined) {
    // A list proves only that nothing is to be done.
    return isRead ? step : lookOwn;
  }
  if (isPaused(resource)) {
    return paused;
  }
  return usableStates.includes(branch.state) ? { kind: "Settled" } : planUnfinished(observation, branch);
}

/** A branch that is being made or reset. Nothing repeats an operation that has failed, so a person must ask for it. */
function planUnfinished({ operations, resource, policy }: BranchObservation, { id, state }: ObservedBranch): Plan {
  const shown = branchOperations(operations, { id, answeredIds: [] }, resource.status.operations);
  const latest = shown.find(({ action }) => action === "create_branch");
  if (latest !== undefined && outcomeOf(latest) === "Failed") {
    return stalls.failed(latest, state);
  }
  const message = `The branch is in the state ${state}. The operator waits until it is ready.`;
  return wait(state === "resetting" ? "Resetting" : "OperationInFlight", message, policy.operationPollMs);
}

/** Clocks differ, so a time up to a minute ahead may have passed at the control plane. */
const clocksDifferMs = 60_000;

function planGone({ resource, nowMs }: BranchObservation, branchId: string): Plan {
  const { expiresTime } = resource.status;
  const isExpired = expiresTime !== undefined && Date.parse(expiresTime) <= nowMs + clocksDifferMs;
  return isExpired ? stalls.expired(branchId, expiresTime) : { kind: "ForgetBranch", branchId };
}

/** The lease is renewed at half time, and when spec gives it another length. `undefined`: it is as spec says. */
function planLease(spec: DatabaseBranchSpec, branch: ObservedBranch, nowMs: number): Plan | undefined {
  const { leaseDurationSeconds: seconds } = spec;
  const { id: branchId, expiresTime } = branch;
  if (seconds === undefined) {
    return expiresTime === undefined ? undefined : { kind: "RenewLease", branchId, expiresTime: null };
  }
  const leaseMs = seconds * 1_000;
  const leftMs = expiresTime === undefined ? Infinity : Date.parse(expiresTime) - nowMs;
  const isCurrent = leftMs > leaseMs / 2 && leftMs <= leaseMs + clocksDifferMs;
  return isCurrent ? undefined : { kind: "RenewLease", branchId, expiresTime: secondsTime(nowMs + leaseMs) };
}

/** A reset is sent once for each value of the annotation. `undefined`: none is asked for, or open. */
function planReset(observation: BranchObservation, branch: ObservedBranch): Plan | undefined {
  const { resource } = observation;
  const { resetIntent: open, lastHandledResetAt } = resource.status;
  if (open !== undefined && branch.lastResetTime !== open.lastResetTime) {
    return { kind: "RecordReset", value: open.value };
  }
  const leftMs = (open && settleLeftMs(observation, resetAttempt(open))) ?? 0;
  if (leftMs > 0) {
    return wait("Resetting", "The answer to a reset was lost. The operator waits for its effect.", leftMs);
  }
  const value = resource.annotations[annotations.resetRequestedAt] ?? open?.value;
  if (value === undefined || value === lastHandledResetAt) {
    return undefined;
  }
  const { id: branchId, parentId } = branch;
  if (parentId === undefined) {
    return stalls.hasNoParent();
  }
  const intent = { value, ...(branch.lastResetTime !== undefined && { lastResetTime: branch.lastResetTime }) };
  return planRefusal(observation, branch, "reset") ?? { kind: "ResetBranch", branchId, parentId, intent };
}

/** What the control plane refuses without a try. Its list by parent id names the children. */
function planRefusal({ own }: BranchObservation, branch: ObservedBranch, what: "delete" | "reset"): Plan | undefined {
  if (branch.isProtected) {
    return stalls.isProtected(what);
  }
  const children = own.list.branches.filter(({ parentId }) => parentId === branch.id).map(({ id }) => id);
  return children.length === 0 ? undefined : stalls.hasChildren(what, children.sort().slice(0, 10));
}

/** A deletion ends when a read by id proves that the branch is gone, or that no create can still take effect. */
function planDeletion(observation: BranchObservation, branchId: string | undefined): Plan {
  const { byId } = observation.own;
  if (branchId !== undefined && byId?.branchId !== branchId) {
    return lookOwn;
  }
  const branch = byId?.branch;
  if (branch === undefined) {
    return planUnresolved(observation) ?? { kind: "RemoveFinalizer", cause: "Gone" };
  }
  return planRefusal(observation, branch, "delete") ?? { kind: "DeleteBranch", branchId: branch.id };
}
