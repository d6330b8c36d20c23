import { rankAfterOperations, startOperations } from "./operations.ts";
import type { BranchRecord } from "./records.ts";
import type { World } from "./world.ts";

/**
 * Sets the timer for the next check of a branch that has an endpoint: checks are due at whole intervals after the
 * branch was created, so setting it twice sets the same.
 */
export function armAvailabilityCheck(world: World, branchId: string): void {
  const branch = world.store.branches.get(branchId);
  if (branch === undefined) return;
  world.store.timers.put({
    key: timerKey(branchId),
    kind: "availabilityCheck",
    subjectId: branchId,
    dueMs: nextCheckMs(world, branch),
    rank: rankAfterOperations,
  });
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

function nextCheckMs(world: World, { createdMs }: BranchRecord): number {
  const intervalMs = world.settings.availabilityCheckIntervalMs;
  return createdMs + (Math.floor((world.nowMs - createdMs) / intervalMs) + 1) * intervalMs;
}

function timerKey(branchId: string): string {
  return `availabilityCheck ${branchId}`;
}
