/** Deletes branches and branch snapshots that have expired. */
import { deleteBranch } from "./branches.ts";
import { Refusal } from "./refusal.ts";
import { armExpiry, disarm } from "./timers.ts";
import type { World } from "./world.ts";

const retryMs = 60_000;

export function expire(world: World, id: string): void {
  disarm(world, "expiry", id);
  world.store.snapshots.remove(id);
  const branch = world.store.branches.get(id);
  if (branch?.expiresMs === undefined) return;
  try {
    deleteBranch(world, branch.projectId, id);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    armExpiry(world, { id, expiresMs: world.nowMs + retryMs });
  }
}
