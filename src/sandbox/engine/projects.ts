import { isDeepStrictEqual } from "node:util";
import { addDatabase, addRole } from "./branch-contents.ts";
import { addBranch, dropBranch, freshBranchId, type NewBranch, startStep } from "./branches.ts";
import { newConfig, requireAllowed } from "./endpoint-changes.ts";
import { addEndpoint, subjectOf } from "./endpoints.ts";
import { password, wordyId } from "./identifiers.ts";
import { requireUnlocked, startWork, type WorkStep } from "./operations.ts";
import type { BranchRecord, EndpointDefaults, OperationRecord, ProjectRecord, ProjectSettings } from "./records.ts";
import { keepForRecovery } from "./recovery.ts";
import { Refusal } from "./refusal.ts";
import { projectLimit, regions, requireRoom } from "./settings.ts";
import { disarmExpiry } from "./timers.ts";
import type { World } from "./world.ts";

/** What a create asks for. A field that is undefined gets the service's default. */
export interface ProjectCreation {
  readonly name: string | undefined;
  readonly regionId: string | undefined;
  readonly pgVersion: number;
  readonly historyRetentionSeconds: number;
  readonly branchName: string | undefined;
  readonly roleName: string | undefined;
  readonly databaseName: string | undefined;
  readonly orgId?: string | undefined;
  readonly provisioner?: string | undefined;
  readonly storePasswords?: boolean | undefined;
  readonly settings?: ProjectSettings | undefined;
  /** What endpoints get when a request does not say otherwise. */
  readonly endpointDefaults?: EndpointDefaults | undefined;
  /** Annotation of the primary branch. */
  readonly annotation?: BranchRecord["annotation"];
}

/** What a request may set. A field that is undefined stays. */
export interface ProjectChanges {
  readonly name?: string | undefined;
  readonly historyRetentionSeconds?: number | undefined;
  /** Replaces the settings that it names; the others stay. */
  readonly settings?: ProjectSettings | undefined;
  /** Replaces the defaults that it names; the others stay. */
  readonly endpointDefaults?: EndpointDefaults | undefined;
}

/** A project after its change (if deleted: before it), and the operations that the change started. */
export interface ProjectMutation {
  readonly project: ProjectRecord;
  readonly operations: readonly OperationRecord[];
}

/** A new project with its primary branch and everything on the branch. */
export interface NewProject extends NewBranch {
  readonly project: ProjectRecord;
}

/**
 * Makes a project: create_timeline runs, and the start_compute of the primary branch's endpoint waits for it.
 *
 * @throws Refusal NotFound (the region), NotAllowed, Invalid
 * @see docs/sandbox.md "What is started by what"
 */
export function createProject(world: World, creation: ProjectCreation): NewProject {
  const { regionId = regions[0].id, pgVersion, historyRetentionSeconds } = creation;
  if (!regionIds(world).includes(regionId)) throw new Refusal("NotFound", "region not found");
  requireRoom(liveProjects(world).length, projectLimit, "PROJECTS");
  const id = freshProjectId(world);
  const project: ProjectRecord = {
    id,
    sequence: world.nextSequence(),
    name: creation.name ?? id,
    regionId,
    plan: "paid",
    pgVersion,
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

/**
 * Changes a project. Another history retention starts apply_storage_config. Logical replication, once enabled, suspends every
 * active compute.
 *
 * @throws Refusal NotFound, Locked, NotAllowed, Invalid
 */
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

/** The fields of `before`, replaced by those of `changes` that are set. */
function merged<V extends object>(before: V | undefined, changes: V | undefined): V | undefined {
  if (changes === undefined) return before;
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...before, ...(Object.fromEntries(given) as V) };
}

/** Every active compute of the project, to be suspended. */
function suspendAll(world: World, projectId: string): readonly WorkStep[] {
  const active = world.store.endpoints.ofProject(projectId).filter(({ state }) => state === "active");
  return active.map((endpoint) => {
    const suspending = world.saveEndpoint({ ...endpoint, pendingState: "idle", updatedMs: world.nowMs });
    return { ...subjectOf(suspending), action: "suspend_compute" };
  });
}

/** @throws Refusal Invalid, NotAllowed: no endpoint of the project could have these defaults */
function requirePossibleDefaults(world: World, { id, plan, endpointDefaults }: ProjectRecord): void {
  if (endpointDefaults !== undefined) requireAllowed(newConfig(id, {}, endpointDefaults), plan, world.profile);
}

/**
 * The project is gone at once; only its operations can still be read. Active computes are suspended, then delete_tenant
 * deletes what is stored.
 *
 * @throws Refusal NotFound, Locked
 */
export function deleteProject(world: World, projectId: string): ProjectMutation {
  const project = world.project(projectId);
  requireUnlocked(world, projectId);
  keepForRecovery(world, project);
  const branchId = world.primaryBranch(projectId).id;
  const suspends = world.store.branches.ofProject(projectId).flatMap((branch) => dropBranch(world, branch));
  for (const { id } of world.store.snapshots.ofProject(projectId)) {
    world.store.snapshots.remove(id);
    disarmExpiry(world, id);
  }
  world.store.projects.put({ ...project, deletedMs: world.nowMs });
  const deletion = { projectId, branchId, endpointId: undefined, action: "delete_tenant" } as const;
  return { project, operations: startWork(world, [...suspends, deletion]) };
}

/** The projects that are not deleted, in the order of creation. */
export function liveProjects(world: World): readonly ProjectRecord[] {
  return world.store.projects.list().filter(({ deletedMs }) => deletedMs === undefined);
}

/** The built-in regions, and those of the fixture's projects. */
export function regionIds(world: World): readonly string[] {
  return [...new Set([...regions.map(({ id }) => id), ...liveProjects(world).map(({ regionId }) => regionId)])];
}

function freshProjectId(world: World): string {
  for (;;) {
    const id = wordyId("", world.draw);
    if (world.store.projects.get(id) === undefined) return id;
  }
}
