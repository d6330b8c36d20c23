import { rankAfterOperations, startOperations } from "./operations.ts";
import type { World } from "./world.ts";

/** Sets the timer for the next check of a branch, one interval from now. */
export function armAvailabilityCheck(world: World, branchId: string): void {
  world.store.timers.put({
    key: `availabilityCheck ${branchId}`,
    kind: "availabilityCheck",
    subjectId: branchId,
    dueMs: world.nowMs + world.settings.availabilityCheckIntervalMs,
    rank: rankAfterOperations,
  });
}

/** Checks a branch through its read-write endpoint, or else its oldest one; a branch without any is not checked. */
export function checkAvailability(world: World, branchId: string): void {
  world.store.timers.remove(`availabilityCheck ${branchId}`);
  const branch = world.store.branches.get(branchId);
  if (branch === undefined) return;
  armAvailabilityCheck(world, branchId);
  const endpoints = world.store.endpoints.ofBranch(branchId);
  const endpoint = endpoints.find(({ type }) => type === "read_write") ?? endpoints[0];
  if (endpoint === undefined) return;
  startOperations(
    world,
    { projectId: branch.projectId, branchId, endpointId: endpoint.id },
    { actions: ["check_availability"], course: "scheduled" },
  );
}
