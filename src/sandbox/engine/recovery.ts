/** Recovers deleted projects, whose branches, endpoints, roles and databases are kept for seven days. */
import { requireUnlocked } from "./operations.ts";
import type { BranchRecord, ProjectRecord, TrashRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { projectLimit, requireRoom } from "./settings.ts";
import { armAvailabilityCheck, armExpiry } from "./timers.ts";
import type { World } from "./world.ts";

export const recoverableMs = 7 * 86_400_000;

/** Must be called before the project is deleted. */
export function keepForRecovery(world: World, { id }: ProjectRecord): void {
  const { store } = world;
  for (const { id: projectId } of store.trash.list()) {
    if (recoverableUntilMs(store.projects.get(projectId)) <= world.nowMs) store.trash.remove(projectId);
  }
  const oldest = store.trash.list()[0];
  if (oldest !== undefined && store.trash.list().length >= world.settings.recoverableProjects)
    store.trash.remove(oldest.id);
  const branches = store.branches.ofProject(id);
  store.trash.put({
    id,
    sequence: world.nextSequence(),
    branches: [...branches],
    endpoints: [...store.endpoints.ofProject(id)],
    roles: branches.flatMap((branch) => store.roles.ofBranch(branch.id)),
    databases: branches.flatMap((branch) => store.databases.ofBranch(branch.id)),
  });
}

export function recoverableUntilMs(project: ProjectRecord | undefined): number {
  return project?.deletedMs === undefined ? 0 : project.deletedMs + recoverableMs;
}

export function recoverableProjects({ store, nowMs }: World): readonly ProjectRecord[] {
  return store.projects.list().filter((project) => recoverableUntilMs(project) > nowMs && store.trash.get(project.id));
}

/** All its computes are idle. @throws Refusal NotFound, NotAllowed, Locked */
export function recoverProject(
  world: World,
  projectId: string,
): { readonly project: ProjectRecord; readonly branches: readonly BranchRecord[] } {
  const before = world.everProject(projectId);
  if (before.deletedMs === undefined) throw new Refusal("NotAllowed", "the project is not deleted");
  const kept = world.store.trash.get(projectId);
  if (kept === undefined || recoverableUntilMs(before) <= world.nowMs) {
    throw new Refusal("NotFound", "the project can no longer be recovered");
  }
  requireUnlocked(world, projectId);
  requireRoom(
    world.store.projects.list().filter(({ deletedMs }) => deletedMs === undefined).length,
    projectLimit,
    "PROJECTS",
  );
  const project: ProjectRecord = { ...before, deletedMs: undefined, updatedMs: world.nowMs };
  world.store.projects.put(project);
  bringBack(world, kept);
  world.store.trash.remove(projectId);
  return { project, branches: world.store.branches.ofProject(projectId) };
}

function bringBack(world: World, { branches, endpoints, roles, databases }: TrashRecord): void {
  for (const role of roles) world.store.roles.put(role);
  for (const database of databases) world.store.databases.put(database);
  for (const branch of branches) {
    world.store.branches.put(branch);
    armExpiry(world, branch);
  }
  for (const endpoint of endpoints) {
    world.saveEndpoint({ ...endpoint, state: "idle", pendingState: undefined, updatedMs: world.nowMs });
    armAvailabilityCheck(world, endpoint.branchId);
  }
}
