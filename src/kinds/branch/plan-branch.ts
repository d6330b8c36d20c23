/** Plans the next step of a DatabaseBranch that owns a branch: its lease, its reset, its end. */
import type { ObservedBranch } from "../../domain/branch.ts";
import { paused } from "../../engine/standing.ts";
import { secondsTime } from "../../resource/conditions.ts";
import type { DatabaseBranchSpec } from "../../resource/database-branch-schema.ts";
import { annotations } from "../../resource/names.ts";
import { isPaused } from "../../resource/stored-object.ts";
import { stalls, wait } from "./branch-texts.ts";
import { type BranchObservation, type Plan, resetAttempt } from "./branch-types.ts";
import { planUnresolved } from "./plan-create.ts";

const lookOwn: Plan = { kind: "Look", at: "Own" };

/** The states in which a branch can be used. An archived one is only slower at its first use. */
const usableStates: readonly string[] = ["ready", "archived"];

export function planOwned(observation: BranchObservation, spec: DatabaseBranchSpec, branchId: string): Plan {
  const { own, resource, policy } = observation;
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
  if (usableStates.includes(branch.state)) {
    return { kind: "Settled" };
  }
  const isResetting = branch.state === "resetting";
  const message = `The branch is in the state ${branch.state}. The operator waits until it is ready.`;
  return wait(isResetting ? "Resetting" : "OperationInFlight", message, policy.operationPollMs);
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
  const { resource, memory, policy, startedAtMs } = observation;
  const { resetIntent: open, lastHandledResetAt } = resource.status;
  if (open !== undefined && branch.lastResetTime !== open.lastResetTime) {
    return { kind: "RecordReset", value: open.value };
  }
  const { posts } = memory;
  const isUnresolved = open !== undefined && posts?.attempt === resetAttempt(open) && posts.isUnresolved;
  const leftMs = isUnresolved ? posts.sinceMs + policy.createSettleMs - startedAtMs : 0;
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
export function planDeletion(observation: BranchObservation, branchId: string | undefined): Plan {
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
