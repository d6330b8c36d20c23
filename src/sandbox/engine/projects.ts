import { addDatabase, addRole } from "./branch-contents.ts";
import { addBranch, type BranchEndpoint, dropBranch, freshBranchId, type NewBranch, startStep } from "./branches.ts";
import { addEndpoint } from "./endpoints.ts";
import { password, wordyId } from "./identifiers.ts";
import { requireUnlocked, startOperations, startWork } from "./operations.ts";
import type { OperationRecord, ProjectRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { projectLimit, regions, requireRoom } from "./settings.ts";
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
  /** Size and suspend delay of the first endpoint. */
  readonly endpoint: Omit<BranchEndpoint, "type">;
}

/** What a request may set. A field that is undefined stays. */
export interface ProjectChanges {
  readonly name?: string | undefined;
  readonly historyRetentionSeconds?: number | undefined;
}

/** A project as it now is (deleted: as it last was), and the operations that its change started. */
export interface ProjectMutation {
  readonly project: ProjectRecord;
  readonly operations: readonly OperationRecord[];
}

/** A new project with its primary branch and all that is on it. */
export interface NewProject extends NewBranch {
  readonly project: ProjectRecord;
}

/**
 * Makes a project: create_timeline runs, and the start_compute of the primary branch's endpoint waits for it.
 *
 * @throws Refusal NotFound (the region), NotAllowed, Invalid
 * @see seed part 1, "Kinds of operation", and rule 4
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
  });
  const role = addRole(world, branch, { name: roleName, password: password(world.draw) });
  const database = addDatabase(world, branch, { name: databaseName, ownerName: roleName });
  const endpoint = addEndpoint(world, project, { ...creation.endpoint, type: "read_write", branchId: branch.id });
  const subject = { projectId: project.id, branchId: branch.id, endpointId: undefined };
  const operations = startWork(world, [{ ...subject, action: "create_timeline" }, startStep(endpoint)]);
  return { branch, endpoints: [endpoint], roles: [role], databases: [database], operations };
}

/** Another history retention is applied to the storage; another name starts nothing. @throws Refusal NotFound, Locked */
export function updateProject(world: World, projectId: string, changes: ProjectChanges): ProjectMutation {
  const before = world.project(projectId);
  requireUnlocked(world, projectId);
  const { name = before.name, historyRetentionSeconds = before.historyRetentionSeconds } = changes;
  const isRetained = historyRetentionSeconds === before.historyRetentionSeconds;
  if (name === before.name && isRetained) return { project: before, operations: [] };
  const project = { ...before, name, historyRetentionSeconds, updatedMs: world.nowMs };
  world.store.projects.put(project);
  if (isRetained) return { project, operations: [] };
  const subject = { projectId, branchId: world.primaryBranch(projectId).id, endpointId: undefined };
  return { project, operations: startOperations(world, subject, { actions: ["apply_storage_config"] }) };
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
  const branchId = world.primaryBranch(projectId).id;
  const suspends = world.store.branches.ofProject(projectId).flatMap((branch) => dropBranch(world, branch));
  world.store.projects.put({ ...project, deletedMs: world.nowMs });
  const deletion = { projectId, branchId, endpointId: undefined, action: "delete_tenant" } as const;
  return { project, operations: startWork(world, [...suspends, deletion]) };
}

/** Those that are not deleted, in the order of creation. */
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
