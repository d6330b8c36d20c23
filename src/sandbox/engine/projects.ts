/** Projects: how requests create, change and delete them. */
import { isDeepStrictEqual } from "node:util";
import { addDatabase, addRole } from "./branch-contents.ts";
import { addBranch, dropBranch, freshBranchId, type NewBranch, startStep } from "./branches.ts";
import { newConfig, requireAllowed } from "./endpoint-changes.ts";
import { addEndpoint, subjectOf } from "./endpoints.ts";
import { password, wordyId } from "./identifiers.ts";
import { requireUnlocked, startWork, type WorkStep } from "./operations.ts";
import type { BranchRecord, Changed, EndpointDefaults, ProjectRecord, ProjectSettings } from "./records.ts";
import { keepForRecovery } from "./recovery.ts";
import { Refusal } from "./refusal.ts";
import { pgVersionFor, projectLimit, regions, requireRoom } from "./settings.ts";
import { disarm } from "./timers.ts";
import type { World } from "./world.ts";

export interface ProjectCreation {
  readonly name: string | undefined;
  readonly regionId: string | undefined;
  readonly pgVersion: number | undefined;
  readonly historyRetentionSeconds: number;
  readonly branchName: string | undefined;
  readonly roleName: string | undefined;
  readonly databaseName: string | undefined;
  readonly orgId?: string | undefined;
  readonly provisioner?: string | undefined;
  readonly storePasswords?: boolean | undefined;
  readonly settings?: ProjectSettings | undefined;
  readonly endpointDefaults?: EndpointDefaults | undefined;
  readonly annotation?: BranchRecord["annotation"];
}

export interface ProjectChanges {
  readonly name?: string | undefined;
  readonly historyRetentionSeconds?: number | undefined;
  readonly settings?: ProjectSettings | undefined;
  readonly endpointDefaults?: EndpointDefaults | undefined;
}

export type ProjectMutation = Changed<"project", ProjectRecord>;

export interface NewProject extends NewBranch {
  readonly project: ProjectRecord;
}

/**
 * Creates a project. It starts create_timeline. After that operation, a start_compute runs for the endpoint of the
 * primary branch.
 * @throws Refusal NotFound (the region), NotAllowed, Invalid
 * @see docs/sandbox.md "What is started by what"
 */
export function createProject(world: World, creation: ProjectCreation): NewProject {
  const { regionId = regions[0].id, historyRetentionSeconds } = creation;
  if (!regionIds(world).includes(regionId)) throw new Refusal("NotFound", "region not found");
  requireRoom(liveProjects(world).length, projectLimit, "PROJECTS");
  const id = freshProjectId(world);
  const project: ProjectRecord = {
    id,
    sequence: world.nextSequence(),
    name: creation.name ?? id,
    regionId,
    plan: "paid",
    pgVersion: pgVersionFor(world.settings, creation.pgVersion),
    historyRetentionSeconds,
    orgId: creation.orgId,
    provisioner: creation.provisioner,
    storePasswords: creation.storePasswords,
    settings: creation.settings,
    endpointDefaults: creation.endpointDefaults,
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
    deletedMs: undefined,
  };
  world.store.projects.put(project);
  return { project, ...primaryBranchOf(world, project, creation) };
}

function primaryBranchOf(world: World, project: ProjectRecord, creation: ProjectCreation): NewBranch {
  const { defaultDatabase } = world.profile;
  const { databaseName = defaultDatabase.name, roleName = defaultDatabase.ownerName } = creation;
  const branch = addBranch(world, {
    id: freshBranchId(world),
    projectId: project.id,
    name: creation.branchName ?? "main",
    parentId: undefined,
    primary: true,
    protected: false,
    annotation: creation.annotation,
  });
  const role = addRole(world, branch, { name: roleName, password: password(world.draw) });
  const database = addDatabase(world, branch, { name: databaseName, ownerName: roleName });
  const endpoint = addEndpoint(world, project, {
    type: "read_write",
    branchId: branch.id,
    provisioner: creation.provisioner,
  });
  const subject = { projectId: project.id, branchId: branch.id, endpointId: undefined };
  const operations = startWork(world, [{ ...subject, action: "create_timeline" }, startStep(endpoint)]);
  return { branch, endpoints: [endpoint], roles: [role], databases: [database], operations };
}

/** Logical replication suspends every active compute, and cannot be switched off again. @throws Refusal */
export function updateProject(world: World, projectId: string, changes: ProjectChanges): ProjectMutation {
  const before = world.project(projectId);
  requireUnlocked(world, projectId);
  const after: ProjectRecord = {
    ...before,
    name: changes.name ?? before.name,
    historyRetentionSeconds: changes.historyRetentionSeconds ?? before.historyRetentionSeconds,
    settings: merged(before.settings, changes.settings),
    endpointDefaults: merged(before.endpointDefaults, changes.endpointDefaults),
  };
  if (isDeepStrictEqual(before, after)) return { project: before, operations: [] };
  requirePossibleDefaults(world, after);
  const wasLogical = before.settings?.enable_logical_replication === true;
  const isLogical = after.settings?.enable_logical_replication === true;
  if (wasLogical && !isLogical) throw new Refusal("NotAllowed", "logical replication cannot be disabled again");
  const project = { ...after, updatedMs: world.nowMs };
  world.store.projects.put(project);
  const isRetained = project.historyRetentionSeconds === before.historyRetentionSeconds;
  const subject = { projectId, branchId: world.primaryBranch(projectId).id, endpointId: undefined };
  const steps: readonly WorkStep[] = [
    ...(isRetained ? [] : [{ ...subject, action: "apply_storage_config" as const }]),
    ...(isLogical && !wasLogical ? suspendAll(world, projectId) : []),
  ];
  return { project, operations: startWork(world, steps) };
}

function merged<V extends object>(before: V | undefined, changes: V | undefined): V | undefined {
  if (changes === undefined) return before;
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...before, ...(Object.fromEntries(given) as V) };
}

/** Returns the steps that suspend the active computes of a project. */
function suspendAll(world: World, projectId: string): readonly WorkStep[] {
  const active = world.store.endpoints.ofProject(projectId).filter(({ state }) => state === "active");
  return active.map((endpoint) => {
    const suspending = world.saveEndpoint({ ...endpoint, pendingState: "idle", updatedMs: world.nowMs });
    return { ...subjectOf(suspending), action: "suspend_compute" };
  });
}

function requirePossibleDefaults(world: World, { id, plan, endpointDefaults }: ProjectRecord): void {
  if (endpointDefaults !== undefined) requireAllowed(newConfig(id, {}, endpointDefaults), plan, world.profile);
}

/**
 * Deletes a project.
 * The project is gone at once. Its operations can still be read. It can be recovered for seven days, but its branch
 * snapshots cannot. Active computes are suspended, and then delete_tenant runs, which deletes no data in these seven
 * days.
 * @throws Refusal NotFound, Locked, NotAllowed (it has a protected branch)
 */
export function deleteProject(world: World, projectId: string): ProjectMutation {
  const project = world.project(projectId);
  requireUnlocked(world, projectId);
  if (world.store.branches.ofProject(projectId).some((branch) => branch.protected)) {
    throw new Refusal("NotAllowed", "a project with protected branches cannot be deleted");
  }
  keepForRecovery(world, project);
  const branchId = world.primaryBranch(projectId).id;
  const suspends = world.store.branches.ofProject(projectId).flatMap((branch) => dropBranch(world, branch));
  for (const { id } of world.store.snapshots.ofProject(projectId)) {
    world.store.snapshots.remove(id);
    disarm(world, "expiry", id);
  }
  world.store.projects.put({ ...project, deletedMs: world.nowMs });
  const deletion = { projectId, branchId, endpointId: undefined, action: "delete_tenant" } as const;
  return { project, operations: startWork(world, [...suspends, deletion]) };
}

export function liveProjects(world: World): readonly ProjectRecord[] {
  return world.store.projects.list().filter(({ deletedMs }) => deletedMs === undefined);
}

/** Returns the ids of the built-in regions, and of every other region that a project uses. */
export function regionIds(world: World): readonly string[] {
  return [...new Set([...regions.map(({ id }) => id), ...liveProjects(world).map(({ regionId }) => regionId)])];
}

function freshProjectId(world: World): string {
  for (;;) {
    const id = wordyId("", world.draw);
    if (world.store.projects.get(id) === undefined) return id;
  }
}
