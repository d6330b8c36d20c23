/** Deletes branches and API snapshots that have expired. */
import { deleteBranch } from "./branches.ts";
import { Refusal } from "./refusal.ts";
import { armExpiry, disarmExpiry } from "./timers.ts";
import type { World } from "./world.ts";

/**
 * After this time the deletion of a branch is tried again, if the branch has children or its project is locked. In
 * milliseconds.
 */
const retryMs = 60_000;

/** Deletes the branch or snapshot. A branch that cannot be deleted now is tried again later. */
export function expire(world: World, id: string): void {
  disarmExpiry(world, id);
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
