import { rankAfterOperations, startOperations, unfinishedWork } from "./operations.ts";
import type { EndpointRecord } from "./records.ts";
import { defaultSuspendSeconds } from "./settings.ts";
import type { World } from "./world.ts";

/** Sets the timer by which an active compute without activity is suspended; `-1` (never) has none. */
export function armAutoSuspend(world: World, endpoint: EndpointRecord): void {
  const dueMs = suspendsAtMs(endpoint);
  if (dueMs === undefined) world.store.timers.remove(timerKey(endpoint.id));
  else arm(world, endpoint.id, Math.max(dueMs, world.nowMs));
}

/** For an endpoint that is removed. */
export function disarmAutoSuspend(world: World, endpointId: string): void {
  world.store.timers.remove(timerKey(endpointId));
}

/** Suspends the compute if it is still due: activity and settings since then count, and running work goes first. */
export function suspendIfInactive(world: World, endpointId: string): void {
  disarmAutoSuspend(world, endpointId);
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint?.state !== "active") return;
  const dueMs = suspendsAtMs(endpoint);
  if (dueMs === undefined) return;
  const busyUntilMs = Math.max(0, ...unfinishedWork(world, endpointId).map((operation) => operation.endsAtMs));
  if (dueMs > world.nowMs || busyUntilMs > 0) {
    // Real work may take longer than planned; its end sets the timer again.
    if (Math.max(dueMs, busyUntilMs) > world.nowMs || !world.work.isReal) {
      arm(world, endpointId, Math.max(dueMs, busyUntilMs));
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

function arm(world: World, endpointId: string, dueMs: number): void {
  world.store.timers.put({
    key: timerKey(endpointId),
    kind: "autoSuspend",
    subjectId: endpointId,
    dueMs,
    rank: rankAfterOperations,
  });
}

function timerKey(endpointId: string): string {
  return `autoSuspend ${endpointId}`;
}
