import { rankAfterOperations, startOperations } from "./operations.ts";
import type { BranchRecord } from "./records.ts";
import type { World } from "./world.ts";

/**
 * Sets the timer for the next check of a branch that has an endpoint: checks are due at whole intervals after the
 * branch was created, so setting it twice sets the same.
 *
 * @param afterMs the check is later than this, epoch milliseconds; those up to it are left aside. @default now
 */
export function armAvailabilityCheck(world: World, branchId: string, afterMs = world.nowMs): void {
  const branch = world.store.branches.get(branchId);
  if (branch === undefined) return;
  world.store.timers.put({
    key: timerKey(branchId),
    kind: "availabilityCheck",
    subjectId: branchId,
    dueMs: nextCheckMs(world, branch, afterMs),
    rank: rankAfterOperations,
  });
}

/** Sets every check that is due by a time to the first one after it. */
export function skipMissedChecks(world: World, untilMs: number): void {
  for (const { kind, subjectId, dueMs } of world.store.timers.list()) {
    if (kind === "availabilityCheck" && dueMs <= untilMs) armAvailabilityCheck(world, subjectId, untilMs);
  }
}

/** For a branch that is removed. */
export function disarmAvailabilityCheck(world: World, branchId: string): void {
  world.store.timers.remove(timerKey(branchId));
}

/**
 * Checks a branch through its read-write endpoint, or else its oldest one. A branch without any is not checked, and not
 * looked at again before it has one.
 */
export function checkAvailability(world: World, branchId: string): void {
  world.store.timers.remove(timerKey(branchId));
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

function timerKey(branchId: string): string {
  return `availabilityCheck ${branchId}`;
}
