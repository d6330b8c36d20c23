import { objectsPerBranch, requireRoom } from "./limits.ts";
import { requireUnlocked } from "./operations.ts";
import { applyConfig } from "./reconfiguration.ts";
import type { BranchRecord, DatabaseRecord, OperationRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { roleAt } from "./roles.ts";
import type { World } from "./world.ts";

/** Which database of which branch of which project. */
export interface DatabasePath {
  readonly projectId: string;
  readonly branchId: string;
  readonly databaseName: string;
}

/** What a request may set. A field that is undefined stays. */
export interface DatabaseChanges {
  readonly name?: string | undefined;
  readonly ownerName?: string | undefined;
}

/** A database as it now is (deleted: as it last was), and the operations that its change started. */
export interface DatabaseMutation {
  readonly database: DatabaseRecord;
  readonly operations: readonly OperationRecord[];
}

/** @throws Refusal NotFound */
export function databaseAt(world: World, { projectId, branchId, databaseName }: DatabasePath): DatabaseRecord {
  const database = named(world, world.branch(projectId, branchId).id, databaseName);
  if (database === undefined) throw new Refusal("NotFound", "database not found");
  return database;
}

/** @throws Refusal NotFound (also of the owner), Locked, Conflict, NotAllowed */
export function createDatabase(world: World, path: DatabasePath, ownerName: string): DatabaseMutation {
  const { projectId, branchId, databaseName } = path;
  const branch = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  roleAt(world, { projectId, branchId, roleName: ownerName });
  requireFreeName(world, branchId, databaseName);
  requireRoom(world.store.databases.ofBranch(branchId).length, objectsPerBranch, "DATABASES");
  const database = addDatabase(world, branch, { name: databaseName, ownerName });
  return { database, operations: applyConfig(world, branch) };
}

/** Records a database of a branch. */
export function addDatabase(
  world: World,
  branch: BranchRecord,
  given: Pick<DatabaseRecord, "name" | "ownerName">,
): DatabaseRecord {
  const sequence = world.nextSequence();
  const database: DatabaseRecord = {
    ...given,
    id: `${branch.id}/${sequence}`,
    sequence,
    projectId: branch.projectId,
    branchId: branch.id,
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
  };
  world.store.databases.put(database);
  return database;
}

/** A change to what is there already starts nothing. @throws Refusal NotFound (also of the owner), Locked, Conflict */
export function updateDatabase(world: World, path: DatabasePath, changes: DatabaseChanges): DatabaseMutation {
  const { projectId, branchId } = path;
  const before = databaseAt(world, path);
  requireUnlocked(world, projectId);
  const { name = before.name, ownerName = before.ownerName } = changes;
  if (name === before.name && ownerName === before.ownerName) return { database: before, operations: [] };
  roleAt(world, { projectId, branchId, roleName: ownerName });
  if (name !== before.name) requireFreeName(world, branchId, name);
  const database = { ...before, name, ownerName, updatedMs: world.nowMs };
  world.store.databases.put(database);
  return { database, operations: applyConfig(world, world.branch(projectId, branchId)) };
}

/** @throws Refusal NotFound, Locked */
export function deleteDatabase(world: World, path: DatabasePath): DatabaseMutation {
  const database = databaseAt(world, path);
  requireUnlocked(world, path.projectId);
  world.store.databases.remove(database.id);
  return { database, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

function named(world: World, branchId: string, name: string): DatabaseRecord | undefined {
  return world.store.databases.ofBranch(branchId).find((database) => database.name === name);
}

function requireFreeName(world: World, branchId: string, name: string): void {
  if (named(world, branchId, name) !== undefined) throw new Refusal("Conflict", "database already exists");
}
