import { password } from "./identifiers.ts";
import { objectsPerBranch, requireRoom } from "./limits.ts";
import { requireUnlocked } from "./operations.ts";
import { applyConfig } from "./reconfiguration.ts";
import type { BranchRecord, OperationRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import type { World } from "./world.ts";

/** Which role of which branch of which project. */
export interface RolePath {
  readonly projectId: string;
  readonly branchId: string;
  readonly roleName: string;
}

/** A role as it now is (deleted: as it last was), and the operations that its change started. */
export interface RoleMutation {
  readonly role: RoleRecord;
  readonly operations: readonly OperationRecord[];
}

/** @throws Refusal NotFound */
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
  const role = addRole(world, branch, { name: path.roleName, password: canLogIn ? password(world.draw) : undefined });
  return { role, operations: applyConfig(world, branch) };
}

/** Records a role of a branch. */
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
  const changed = { ...role, password: password(world.draw), updatedMs: world.nowMs };
  world.store.roles.put(changed);
  return { role: changed, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

/** @throws Refusal NotFound, Locked, NotAllowed (the role owns a database) */
export function deleteRole(world: World, path: RolePath): RoleMutation {
  const role = roleAt(world, path);
  requireUnlocked(world, path.projectId);
  if (world.store.databases.ofBranch(path.branchId).some(({ ownerName }) => ownerName === role.name)) {
    throw new Refusal("NotAllowed", "the role owns a database");
  }
  world.store.roles.remove(role.id);
  return { role, operations: applyConfig(world, world.branch(path.projectId, path.branchId)) };
}

function roleId(branchId: string, name: string): string {
  return `${branchId}/${name}`;
}
