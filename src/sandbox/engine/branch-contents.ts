/** Roles and databases of a branch: how requests create, change and delete them. */
import { noteVersion } from "./history.ts";
import { password } from "./identifiers.ts";
import { requireUnlocked, startOperations } from "./operations.ts";
import type { BranchContents, BranchRecord, Changed, DatabaseRecord, OperationRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { objectsPerBranch, requireRoom } from "./settings.ts";
import type { World } from "./world.ts";

/** Starts apply_config after a change of roles or databases, on the read-write endpoint if there is one. */
export function applyConfig(world: World, { id: branchId, projectId }: BranchRecord): readonly OperationRecord[] {
  const endpoint = world.store.endpoints.ofBranch(branchId).find(({ type }) => type === "read_write");
  return startOperations(world, { projectId, branchId, endpointId: endpoint?.id }, { actions: ["apply_config"] });
}

export interface RolePath {
  readonly projectId: string;
  readonly branchId: string;
  readonly roleName: string;
}

export type RoleMutation = Changed<"role", RoleRecord>;

export function roleAt(world: World, { projectId, branchId, roleName }: RolePath): RoleRecord {
  world.branch(projectId, branchId);
  const role = world.store.roles.get(roleId(branchId, roleName));
  if (role === undefined) throw new Refusal("NotFound", "role not found");
  return role;
}

/** @throws Refusal NotFound, Locked, Conflict, NotAllowed */
export function createRole(world: World, path: RolePath, { canLogIn }: { readonly canLogIn: boolean }): RoleMutation {
  const branch = world.branch(path.projectId, path.branchId);
  requireUnlocked(world, path.projectId);
  if (world.store.roles.get(roleId(branch.id, path.roleName)) !== undefined) {
    throw new Refusal("Conflict", "role already exists");
  }
  requireRoom(world.store.roles.ofBranch(branch.id).length, objectsPerBranch, "ROLES");
  noteVersion(world, branch);
  const role = addRole(world, branch, { name: path.roleName, password: canLogIn ? password(world.draw) : undefined });
  return { role, operations: applyConfig(world, branch) };
}

/** Adds the record of a role. It checks nothing and starts no operation. */
export function addRole(world: World, branch: BranchRecord, given: Pick<RoleRecord, "name" | "password">): RoleRecord {
  const role: RoleRecord = {
    ...given,
    id: roleId(branch.id, given.name),
    sequence: world.nextSequence(),
    projectId: branch.projectId,
    branchId: branch.id,
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
  };
  world.store.roles.put(role);
  return role;
}

/** Gives the role a new password. @throws Refusal NotFound, Locked, NotAllowed (the role cannot log in) */
export function resetPassword(world: World, path: RolePath): RoleMutation {
  const role = roleAt(world, path);
  requireUnlocked(world, path.projectId);
  if (role.password === undefined) throw new Refusal("NotAllowed", "the role cannot log in");
  noteVersion(world, world.branch(path.projectId, path.branchId));
  const changed = { ...role, password: password(world.draw), updatedMs: world.nowMs };
  world.store.roles.put(changed);
  return { role: changed, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

export function deleteRole(world: World, path: RolePath): RoleMutation {
  const role = roleAt(world, path);
  requireUnlocked(world, path.projectId);
  if (world.store.databases.ofBranch(path.branchId).some(({ ownerName }) => ownerName === role.name)) {
    throw new Refusal("NotAllowed", "the role owns a database");
  }
  noteVersion(world, world.branch(path.projectId, path.branchId));
  world.store.roles.remove(role.id);
  return { role, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

function roleId(branchId: string, name: string): string {
  return `${branchId}/${name}`;
}

export interface DatabasePath {
  readonly projectId: string;
  readonly branchId: string;
  readonly databaseName: string;
}

export interface DatabaseChanges {
  readonly name?: string | undefined;
  readonly ownerName?: string | undefined;
}

export type DatabaseMutation = Changed<"database", DatabaseRecord>;

export function databaseAt(world: World, { projectId, branchId, databaseName }: DatabasePath): DatabaseRecord {
  const database = named(world, world.branch(projectId, branchId).id, databaseName);
  if (database === undefined) throw new Refusal("NotFound", "database not found");
  return database;
}

/** @throws Refusal NotFound (branch or owner), Locked, Conflict, NotAllowed */
export function createDatabase(world: World, path: DatabasePath, ownerName: string): DatabaseMutation {
  const { projectId, branchId, databaseName } = path;
  const branch = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  roleAt(world, { projectId, branchId, roleName: ownerName });
  requireFreeName(world, branchId, databaseName);
  requireRoom(world.store.databases.ofBranch(branchId).length, objectsPerBranch, "DATABASES");
  noteVersion(world, branch);
  const database = addDatabase(world, branch, { name: databaseName, ownerName });
  return { database, operations: applyConfig(world, branch) };
}

/** Adds the record of a database. It checks nothing and starts no operation. */
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

export function updateDatabase(world: World, path: DatabasePath, changes: DatabaseChanges): DatabaseMutation {
  const { projectId, branchId } = path;
  const before = databaseAt(world, path);
  requireUnlocked(world, projectId);
  const { name = before.name, ownerName = before.ownerName } = changes;
  if (name === before.name && ownerName === before.ownerName) return { database: before, operations: [] };
  roleAt(world, { projectId, branchId, roleName: ownerName });
  if (name !== before.name) requireFreeName(world, branchId, name);
  noteVersion(world, world.branch(projectId, branchId));
  const database = { ...before, name, ownerName, updatedMs: world.nowMs };
  world.store.databases.put(database);
  return { database, operations: applyConfig(world, world.branch(projectId, branchId)) };
}

export function deleteDatabase(world: World, path: DatabasePath): DatabaseMutation {
  const database = databaseAt(world, path);
  requireUnlocked(world, path.projectId);
  noteVersion(world, world.branch(path.projectId, path.branchId));
  world.store.databases.remove(database.id);
  return { database, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

function named(world: World, branchId: string, name: string): DatabaseRecord | undefined {
  return world.store.databases.ofBranch(branchId).find((database) => database.name === name);
}

function requireFreeName(world: World, branchId: string, name: string): void {
  if (named(world, branchId, name) !== undefined) throw new Refusal("Conflict", "database already exists");
}

export function putContents(world: World, branch: BranchRecord, { roles, databases }: BranchContents) {
  for (const { id } of world.store.roles.ofBranch(branch.id)) world.store.roles.remove(id);
  for (const { id } of world.store.databases.ofBranch(branch.id)) world.store.databases.remove(id);
  return {
    roles: roles.map((role) => addRole(world, branch, role)),
    databases: databases.map((database) => addDatabase(world, branch, database)),
  };
}
