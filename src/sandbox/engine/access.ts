import { armAutoSuspend, disarmAutoSuspend } from "./auto-suspend.ts";
import { type Mutation, subjectOf } from "./endpoints.ts";
import type { FileCacheUse } from "./file-cache.ts";
import { startOperations, unfinishedWork } from "./operations.ts";
import type { EndpointRecord, OperationRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** An endpoint of any project. @throws Refusal NotFound */
export function anyEndpoint(world: World, endpointId: string): EndpointRecord {
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint === undefined) throw new Refusal("NotFound", "endpoint not found");
  return endpoint;
}

/**
 * A client connects, which is no request of the API: no lock holds it up. An idle compute is woken by it, an active one
 * stays awake for longer; one that is on its way is left alone, and so is a disabled one.
 *
 * @throws Refusal NotFound, NotAllowed (disabled)
 * @see seed part 3, "Compute endpoint state"
 */
export function connectTo(world: World, endpointId: string, use: FileCacheUse | undefined): Mutation {
  const endpoint = anyEndpoint(world, endpointId);
  if (endpoint.disabled) throw new Refusal("NotAllowed", "endpoint is disabled");
  if (endpoint.state === "active") {
    const seen = world.saveEndpoint({ ...endpoint, lastActiveMs: world.nowMs });
    armAutoSuspend(world, seen);
    if (use !== undefined) world.fileCaches.add(seen, use);
    return { endpoint: seen, operations: [] };
  }
  if (unfinishedWork(world, endpointId).some(movesCompute)) return { endpoint, operations: [] };
  const woken = world.saveEndpoint({ ...endpoint, pendingState: "active", updatedMs: world.nowMs });
  return { endpoint: woken, operations: startOperations(world, subjectOf(woken), { actions: ["start_compute"] }) };
}

/** An active compute whose server has ended is idle; any other endpoint stays as it is. */
export function loseCompute(world: World, endpointId: string): void {
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint?.state !== "active") return;
  disarmAutoSuspend(world, endpointId);
  world.saveEndpoint({ ...endpoint, state: "idle", suspendedMs: world.nowMs, updatedMs: world.nowMs });
}

/** A configuration that is being applied does not wake a compute, nor keep it from being woken. */
function movesCompute({ action }: OperationRecord): boolean {
  return action === "start_compute" || action === "suspend_compute";
}
