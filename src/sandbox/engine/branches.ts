/** Branches: how requests create, change and delete them. */
import { putContents } from "./branch-contents.ts";
import type { EndpointCreation } from "./endpoint-changes.ts";
import { addEndpoint, dropEndpoint, subjectOf } from "./endpoints.ts";
import { contentsAt } from "./history.ts";
import { wordyId } from "./identifiers.ts";
import { requireUnlocked, startWork, type WorkStep } from "./operations.ts";
import type { BranchRecord, Changed, DatabaseRecord, EndpointRecord, OperationRecord, RoleRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { branchLimits, requireRoom } from "./settings.ts";
import { armExpiry, disarm } from "./timers.ts";
import type { World } from "./world.ts";

export type BranchEndpoint = Omit<EndpointCreation, "branchId">;

export interface BranchCreation {
  /** `undefined`: its id. */
  readonly name: string | undefined;
  /** `undefined`: the primary branch. */
  readonly parentId: string | undefined;
  readonly protected: boolean;
  readonly endpoints: readonly BranchEndpoint[];
  /** The time of the parent's data, epoch milliseconds. `undefined`: now. */
  readonly parentTimestampMs?: number | undefined;
  /** `schema-only` makes a branch without a parent and without rows. @default parent-data */
  readonly initSource?: BranchRecord["initSource"];
  readonly expiresMs?: number | undefined;
  readonly annotation?: BranchRecord["annotation"];
}

/** An undefined field stays as it is. */
export interface BranchChanges {
  readonly name?: string | undefined;
  readonly protected?: boolean | undefined;
  readonly expiresMs?: number | null | undefined;
}

export type BranchMutation = Changed<"branch", BranchRecord>;

export interface NewBranch extends BranchMutation {
  readonly endpoints: readonly EndpointRecord[];
  readonly roles: readonly RoleRecord[];
  readonly databases: readonly DatabaseRecord[];
}

/**
 * Creates a branch.
 * It starts create_branch. After that operation, a start_compute runs for each new endpoint, or an apply_config if the
 * endpoint is disabled. The branch gets the roles and databases that its parent has, or had at `parentTimestampMs`.
 * @throws Refusal NotFound, Locked, Conflict, NotAllowed, Invalid
 * @see docs/sandbox.md "What is started by what"
 */
export function createBranch(world: World, projectId: string, creation: BranchCreation): NewBranch {
  const project = world.project(projectId);
  requireUnlocked(world, projectId);
  const parent = world.branch(projectId, creation.parentId ?? world.primaryBranch(projectId).id);
  requireRoom(world.store.branches.ofProject(projectId).length, branchLimits[project.plan], "BRANCHES");
  const id = freshBranchId(world);
  const name = creation.name ?? id;
  requireFreeName(world, projectId, name);
  const { parentTimestampMs, initSource, expiresMs, annotation } = creation;
  const schemaOf = initSource === "schema-only" ? parent.id : undefined;
  const contents = contentsAt(world, parent, parentTimestampMs);
  const branch = addBranch(world, {
    id,
    projectId,
    name,
    parentId: schemaOf === undefined ? parent.id : undefined,
    parentTimestampMs,
    initSource,
    annotation,
    ...expiryOf(world, { isKept: creation.protected }, expiresMs),
    primary: false,
    protected: creation.protected,
  });
  armExpiry(world, branch);
  const { roles, databases } = putContents(world, branch, contents);
  const endpoints = creation.endpoints.map((endpoint) => addEndpoint(world, project, { ...endpoint, branchId: id }));
  return { branch, endpoints, roles, databases, operations: beginBranch(world, branch, { endpoints, schemaOf }) };
}

/** Adds the record of a new branch in the state `init`. The caller starts its operation, or makes it `ready`. */
export function addBranch(
  world: World,
  given: Omit<BranchRecord, "sequence" | "state" | "createdMs" | "updatedMs">,
): BranchRecord {
  const branch: BranchRecord = {
    ...given,
    sequence: world.nextSequence(),
    state: "init",
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
  };
  world.store.branches.put(branch);
  return branch;
}

/** Returns the expiry fields of a branch. `isKept`: primary or protected. @throws Refusal Invalid, NotAllowed */
function expiryOf(
  world: World,
  { isKept }: { readonly isKept: boolean },
  expiresMs: number | undefined,
): Pick<BranchRecord, "expiresMs" | "ttlSeconds"> {
  if (expiresMs === undefined) return { expiresMs: undefined, ttlSeconds: undefined };
  if (expiresMs <= world.nowMs) throw new Refusal("Invalid", "expires_at: must be in the future");
  if (isKept) throw new Refusal("NotAllowed", "expires_at: a default or protected branch cannot expire");
  return { expiresMs, ttlSeconds: Math.round((expiresMs - world.nowMs) / 1000) };
}

function beginBranch(
  world: World,
  { id: branchId, projectId }: BranchRecord,
  { endpoints, schemaOf }: { readonly endpoints: readonly EndpointRecord[]; readonly schemaOf: string | undefined },
): readonly OperationRecord[] {
  return startWork(world, [
    { projectId, branchId, endpointId: undefined, action: "create_branch", schemaOf },
    ...endpoints.map(startStep),
  ]);
}

/** Returns the first operation of an endpoint that is created with its branch. */
export function startStep(endpoint: EndpointRecord): WorkStep {
  return { ...subjectOf(endpoint), action: endpoint.disabled ? "apply_config" : "start_compute" };
}

/** Changes a branch. The call starts no operation. @throws Refusal NotFound, Locked, Conflict, Invalid, NotAllowed */
export function updateBranch(
  world: World,
  { projectId, branchId }: { readonly projectId: string; readonly branchId: string },
  changes: BranchChanges,
): BranchMutation {
  const before = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  const { name = before.name, protected: isProtected = before.protected } = changes;
  const isSameExpiry = changes.expiresMs === undefined || (changes.expiresMs ?? undefined) === before.expiresMs;
  if (name === before.name && isProtected === before.protected && isSameExpiry) {
    return { branch: before, operations: [] };
  }
  if (name !== before.name) requireFreeName(world, projectId, name);
  const expiry = isSameExpiry
    ? before
    : expiryOf(world, { isKept: isProtected || before.primary }, changes.expiresMs ?? undefined);
  if (isProtected && expiry.expiresMs !== undefined) {
    throw new Refusal("NotAllowed", "a branch that expires cannot be protected");
  }
  const { expiresMs, ttlSeconds } = expiry;
  const branch = { ...before, name, protected: isProtected, expiresMs, ttlSeconds, updatedMs: world.nowMs };
  world.store.branches.put(branch);
  armExpiry(world, branch);
  return { branch, operations: [] };
}

export function makePrimary(world: World, projectId: string, branchId: string): BranchMutation {
  const before = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  if (before.primary) return { branch: before, operations: [] };
  world.store.branches.put({ ...world.primaryBranch(projectId), primary: false, updatedMs: world.nowMs });
  const branch = { ...before, primary: true, expiresMs: undefined, ttlSeconds: undefined, updatedMs: world.nowMs };
  world.store.branches.put(branch);
  armExpiry(world, branch);
  return { branch, operations: [] };
}

/** Deletes a branch and its endpoints at once. @throws Refusal NotFound, Locked, NotAllowed */
export function deleteBranch(world: World, projectId: string, branchId: string): BranchMutation {
  const branch = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  if (branch.primary) throw new Refusal("NotAllowed", "the default branch cannot be deleted");
  if (branch.protected) throw new Refusal("NotAllowed", "a protected branch cannot be deleted");
  if (world.store.branches.ofProject(projectId).some(({ parentId }) => parentId === branchId)) {
    throw new Refusal("NotAllowed", "a branch that has children cannot be deleted");
  }
  return { branch, operations: startWork(world, dropBranch(world, branch)) };
}

/** Removes a branch with everything on it. @returns the steps that suspend its computes; the caller starts them */
export function dropBranch(world: World, branch: BranchRecord): readonly WorkStep[] {
  const { store } = world;
  const endpoints = store.endpoints.ofBranch(branch.id);
  for (const endpoint of endpoints) dropEndpoint(world, endpoint);
  for (const { id } of store.roles.ofBranch(branch.id)) store.roles.remove(id);
  for (const { id } of store.databases.ofBranch(branch.id)) store.databases.remove(id);
  for (const { id } of store.versions.ofBranch(branch.id)) store.versions.remove(id);
  disarm(world, "availabilityCheck", branch.id);
  disarm(world, "expiry", branch.id);
  store.branches.remove(branch.id);
  return endpoints
    .filter(({ state }) => state === "active")
    .map((endpoint) => ({ ...subjectOf(endpoint), action: "suspend_compute" }));
}

export function requireFreeName(world: World, projectId: string, name: string): void {
  if (world.store.branches.ofProject(projectId).some((branch) => branch.name === name)) {
    throw new Refusal("Conflict", "branch with the provided name already exists");
  }
}

export function freshBranchId(world: World): string {
  for (;;) {
    const id = wordyId("br-", world.draw);
    if (world.store.branches.get(id) === undefined) return id;
  }
}
