/**
 * Keeps the roles and databases that branches had at earlier times. A version is kept as long as the project keeps its
 * history, at most 1,000 of each branch.
 */
import type { BranchContents, BranchRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** The maximum number of stored versions of one branch's roles and databases. The oldest is removed first. */
const mostVersions = 1000;

/** Stores the present roles and databases of a branch as a version. It must be called before they change. */
export function noteVersion(world: World, branch: BranchRecord): void {
  const { store, nowMs } = world;
  const retainedFromMs = nowMs - world.project(branch.projectId).historyRetentionSeconds * 1000;
  for (const version of store.versions.ofBranch(branch.id)) {
    if (version.untilMs < retainedFromMs) store.versions.remove(version.id);
  }
  const kept = store.versions.ofBranch(branch.id);
  // No client can ask for a version that lasted for 0 ms.
  if (kept.at(-1)?.untilMs === nowMs) return;
  if (kept.length >= mostVersions) store.versions.remove(kept[0]?.id ?? "");
  const sequence = world.nextSequence();
  const { id: branchId, projectId } = branch;
  store.versions.put({
    id: `${branchId}/${sequence}`,
    sequence,
    projectId,
    branchId,
    untilMs: nowMs,
    ...contentsOf(world, branchId),
  });
}

/** @throws Refusal Invalid (the time is in the future), NotAllowed (it is before the branch's history) */
export function contentsAt(world: World, branch: BranchRecord, timeMs: number | undefined): BranchContents {
  if (timeMs === undefined) return contentsOf(world, branch.id);
  if (timeMs > world.nowMs) throw new Refusal("Invalid", "the timestamp is in the future");
  const { historyRetentionSeconds } = world.project(branch.projectId);
  if (timeMs < branch.createdMs || timeMs < world.nowMs - historyRetentionSeconds * 1000) {
    throw new Refusal("NotAllowed", "the timestamp is before the history that the branch retains");
  }
  requirePastData(world, branch, timeMs);
  const version = world.store.versions.ofBranch(branch.id).find(({ untilMs }) => untilMs > timeMs);
  return version ?? contentsOf(world, branch.id);
}

/** The history of a restored branch begins with the restore. @throws Refusal NotAllowed */
function requirePastData({ work }: World, { id, lastResetMs = 0 }: BranchRecord, timeMs: number): void {
  if (!work.isReal) return;
  const problem =
    timeMs < lastResetMs ? "the timestamp is before the last restore of the branch" : work.pastProblem(id, timeMs);
  if (problem !== undefined) throw new Refusal("NotAllowed", problem);
}

/** Leaves out the fields that belong to this branch only, such as ids. */
export function contentsOf({ store }: World, branchId: string): BranchContents {
  return {
    roles: store.roles.ofBranch(branchId).map(({ name, password }) => ({ name, password })),
    databases: store.databases.ofBranch(branchId).map(({ name, ownerName }) => ({ name, ownerName })),
  };
}
