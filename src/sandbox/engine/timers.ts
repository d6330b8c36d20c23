/** The timers that suspend computes, check availability, and delete what has expired. */
import { armOperationTimer, rankAfterOperations, startOperations, unfinishedWork } from "./operations.ts";
import type { BranchRecord, EndpointRecord, StoreContent, TimerRecord } from "./records.ts";
import { defaultSuspendSeconds } from "./settings.ts";
import type { World } from "./world.ts";

function arm(world: World, kind: TimerRecord["kind"], subjectId: string, dueMs: number): void {
  const rank = rankAfterOperations;
  world.store.timers.put({ key: `${kind} ${subjectId}`, kind, subjectId, dueMs: Math.max(dueMs, world.nowMs), rank });
}

export function disarm(world: World, kind: TimerRecord["kind"], subjectId: string): void {
  world.store.timers.remove(`${kind} ${subjectId}`);
}

export function armAutoSuspend(world: World, endpoint: EndpointRecord): void {
  const dueMs = suspendsAtMs(endpoint);
  if (dueMs === undefined) disarm(world, "autoSuspend", endpoint.id);
  else arm(world, "autoSuspend", endpoint.id, dueMs);
}

/** Otherwise the timer is set again: after newer activity, while operations run, or while clients are connected. */
export function suspendIfInactive(world: World, endpointId: string): void {
  disarm(world, "autoSuspend", endpointId);
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint?.state !== "active") return;
  const dueMs = suspendsAtMs(endpoint);
  if (dueMs === undefined) return;
  const busyUntilMs = Math.max(0, ...unfinishedWork(world, endpointId).map((operation) => operation.endsAtMs));
  if (dueMs > world.nowMs || busyUntilMs > 0) {
    // Real work may take longer than planned. When the work ends, this timer is set again.
    if (Math.max(dueMs, busyUntilMs) > world.nowMs || !world.work.isReal) {
      arm(world, "autoSuspend", endpointId, Math.max(dueMs, busyUntilMs));
    }
    return;
  }
  if (world.work.isInUse(endpointId)) {
    armAutoSuspend(world, world.saveEndpoint({ ...endpoint, lastActiveMs: world.nowMs }));
    return;
  }
  world.saveEndpoint({ ...endpoint, pendingState: "idle" });
  startOperations(
    world,
    { projectId: endpoint.projectId, branchId: endpoint.branchId, endpointId },
    { actions: ["suspend_compute"] },
  );
}

function suspendsAtMs(endpoint: EndpointRecord): number | undefined {
  const { suspendTimeoutSeconds: seconds, lastActiveMs } = endpoint;
  if (seconds === -1 || lastActiveMs === undefined) return undefined;
  return lastActiveMs + (seconds === 0 ? defaultSuspendSeconds : seconds) * 1000;
}

/** Checks are due at whole intervals after the branch was created. `afterMs`: earlier ones are skipped. */
export function armAvailabilityCheck(world: World, branchId: string, afterMs = world.nowMs): void {
  const branch = world.store.branches.get(branchId);
  if (branch === undefined) return;
  arm(world, "availabilityCheck", branchId, nextCheckMs(world, branch, afterMs));
}

export function skipMissedChecks(world: World, untilMs: number): void {
  for (const { kind, subjectId, dueMs } of world.store.timers.list()) {
    if (kind === "availabilityCheck" && dueMs <= untilMs) armAvailabilityCheck(world, subjectId, untilMs);
  }
}

export function checkAvailability(world: World, branchId: string): void {
  disarm(world, "availabilityCheck", branchId);
  const endpoints = world.store.endpoints.ofBranch(branchId);
  const endpoint = endpoints.find(({ type }) => type === "read_write") ?? endpoints[0];
  if (endpoint === undefined) return;
  armAvailabilityCheck(world, branchId);
  startOperations(
    world,
    { projectId: endpoint.projectId, branchId, endpointId: endpoint.id },
    { actions: ["check_availability"], course: "scheduled" },
  );
}

function nextCheckMs({ settings }: World, { createdMs }: BranchRecord, afterMs: number): number {
  const intervalMs = settings.availabilityCheckIntervalMs;
  return createdMs + (Math.floor((afterMs - createdMs) / intervalMs) + 1) * intervalMs;
}

export function armExpiry(
  world: World,
  { id, expiresMs }: { readonly id: string; readonly expiresMs?: number | undefined },
): void {
  if (expiresMs === undefined) disarm(world, "expiry", id);
  else arm(world, "expiry", id, expiresMs);
}

/** The stored timers are not used: one that does not match its record would be due for ever. */
export function rearm(world: World, { operations, endpoints, branches, snapshots }: StoreContent): void {
  for (const record of [...branches, ...snapshots]) armExpiry(world, record);
  for (const operation of operations) {
    const isUnfinished = operation.status === "scheduling" || operation.status === "running";
    if (isUnfinished) armOperationTimer(world, operation);
  }
  for (const endpoint of endpoints) {
    if (endpoint.state === "active") armAutoSuspend(world, endpoint);
    armAvailabilityCheck(world, endpoint.branchId);
  }
}
