/** Restores branches from another branch, an earlier time or a branch snapshot, and stores branch snapshots. */
import { putContents } from "./branch-contents.ts";
import { addBranch, type BranchMutation, freshBranchId, type NewBranch, requireFreeName } from "./branches.ts";
import { subjectOf } from "./endpoints.ts";
import { contentsAt, contentsOf, noteVersion } from "./history.ts";
import { wordyId } from "./identifiers.ts";
import { requireUnlocked, startWork } from "./operations.ts";
import type { BranchRecord, Changed, OperationRecord, SnapshotRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { branchLimits, requireRoom, snapshotLimit } from "./settings.ts";
import { armExpiry, disarm } from "./timers.ts";
import type { World } from "./world.ts";

export interface BranchRestore {
  readonly sourceBranchId: string;
  /** Epoch milliseconds. `undefined`: now. */
  readonly sourceMs: number | undefined;
  /** The name of a new branch that keeps the former data, and gets the children. */
  readonly preserveUnderName: string | undefined;
}

/** Active computes are suspended before, and started after it. @throws Refusal */
export function restoreBranch(
  world: World,
  { projectId, branchId }: { readonly projectId: string; readonly branchId: string },
  { sourceBranchId, sourceMs, preserveUnderName }: BranchRestore,
): BranchMutation {
  const before = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  const source = world.branch(projectId, sourceBranchId);
  const isOwn = source.id === before.id;
  if (isOwn && sourceMs === undefined) {
    throw new Refusal("Invalid", "source_timestamp: is needed to restore a branch from itself");
  }
  const children = world.store.branches.ofProject(projectId).filter(({ parentId }) => parentId === branchId);
  if (preserveUnderName === undefined && (isOwn || children.length > 0)) {
    const why = isOwn ? "to restore a branch from itself" : "because the branch has children";
    throw new Refusal("Invalid", `preserve_under_name: is needed ${why}`);
  }
  const contents = contentsAt(world, source, sourceMs);
  const kept = preserveUnderName === undefined ? undefined : preserve(world, before, preserveUnderName);
  if (kept !== undefined) {
    for (const child of children) world.store.branches.put({ ...child, parentId: kept.id, updatedMs: world.nowMs });
  }
  const branch: BranchRecord = {
    ...before,
    parentId: isOwn ? kept?.id : source.id,
    parentTimestampMs: sourceMs,
    state: "resetting",
    lastResetMs: world.nowMs,
    ...(before.ttlSeconds === undefined ? {} : { expiresMs: world.nowMs + before.ttlSeconds * 1000 }),
    updatedMs: world.nowMs,
  };
  world.store.branches.put(branch);
  armExpiry(world, branch);
  noteVersion(world, branch);
  putContents(world, branch, contents);
  return { branch, operations: startRestore(world, branch, { sourceBranchId, sourceMs, preservedId: kept?.id }) };
}

function preserve(world: World, branch: BranchRecord, name: string): BranchRecord {
  requireFreeName(world, branch.projectId, name);
  const project = world.project(branch.projectId);
  requireRoom(world.store.branches.ofProject(project.id).length, branchLimits[project.plan], "BRANCHES");
  const kept = addBranch(world, {
    id: freshBranchId(world),
    projectId: project.id,
    name,
    parentId: branch.parentId,
    parentTimestampMs: branch.parentTimestampMs,
    primary: false,
    protected: false,
  });
  const ready: BranchRecord = { ...kept, state: "ready" };
  world.store.branches.put(ready);
  putContents(world, ready, contentsOf(world, branch.id));
  return ready;
}

function startRestore(
  world: World,
  branch: BranchRecord,
  restore: NonNullable<OperationRecord["restore"]>,
): readonly OperationRecord[] {
  const active = world.store.endpoints.ofBranch(branch.id).filter(({ state }) => state === "active");
  const moving = active.map((endpoint) =>
    world.saveEndpoint({ ...endpoint, pendingState: "active", updatedMs: world.nowMs }),
  );
  const subject = { projectId: branch.projectId, branchId: branch.id, endpointId: undefined };
  return startWork(world, [
    ...moving.map((endpoint) => ({ ...subjectOf(endpoint), action: "suspend_compute" as const })),
    { ...subject, action: "create_branch", restore },
    ...moving.map((endpoint) => ({ ...subjectOf(endpoint), action: "start_compute" as const })),
  ]);
}

/** Without a name, the id is the name. */
export interface SnapshotCreation {
  readonly name: string | undefined;
  readonly timestampMs: number | undefined;
  readonly expiresMs: number | undefined;
}

export type NewSnapshot = Changed<"snapshot", SnapshotRecord>;

/** @throws Refusal NotFound, Locked, Invalid, NotAllowed */
export function createSnapshot(
  world: World,
  { projectId, branchId }: { readonly projectId: string; readonly branchId: string },
  { name, timestampMs, expiresMs }: SnapshotCreation,
): NewSnapshot {
  const branch = world.branch(projectId, branchId);
  requireUnlocked(world, projectId);
  requireRoom(world.store.snapshots.ofProject(projectId).length, snapshotLimit, "SNAPSHOTS");
  const contents = contentsAt(world, branch, timestampMs);
  requireFuture(world, expiresMs);
  const id = wordyId("snap-", world.draw);
  const snapshot: SnapshotRecord = {
    id,
    sequence: world.nextSequence(),
    projectId,
    branchId,
    name: name ?? id,
    timestampMs: timestampMs ?? world.nowMs,
    expiresMs,
    ...contents,
    createdMs: world.nowMs,
  };
  world.store.snapshots.put(snapshot);
  armExpiry(world, snapshot);
  if (!world.work.isReal) return { snapshot, operations: [] };
  const step = { projectId, branchId, endpointId: undefined, action: "create_branch", snapshotId: id } as const;
  return { snapshot, operations: startWork(world, [step]) };
}

export function requireFuture(world: World, expiresMs: number | undefined): void {
  if (expiresMs !== undefined && expiresMs <= world.nowMs) {
    throw new Refusal("Invalid", "expires_at: must be in the future");
  }
}

export function snapshotAt(world: World, projectId: string, snapshotId: string): SnapshotRecord {
  world.project(projectId);
  const snapshot = world.store.snapshots.get(snapshotId);
  if (snapshot?.projectId !== projectId) throw new Refusal("NotFound", "snapshot not found");
  return snapshot;
}

export function renameSnapshot(
  world: World,
  { projectId, snapshotId }: { readonly projectId: string; readonly snapshotId: string },
  name: string | undefined,
): SnapshotRecord {
  const before = snapshotAt(world, projectId, snapshotId);
  const snapshot = { ...before, name: name ?? before.name };
  world.store.snapshots.put(snapshot);
  return snapshot;
}

export function deleteSnapshot(world: World, projectId: string, snapshotId: string): void {
  world.store.snapshots.remove(snapshotAt(world, projectId, snapshotId).id);
  disarm(world, "expiry", snapshotId);
}

/** @throws Refusal NotFound, Locked, Conflict, NotAllowed */
export function restoreSnapshot(
  world: World,
  { projectId, snapshotId }: { readonly projectId: string; readonly snapshotId: string },
  name: string | undefined,
): NewBranch {
  const snapshot = snapshotAt(world, projectId, snapshotId);
  requireUnlocked(world, projectId);
  const { plan } = world.project(projectId);
  requireRoom(world.store.branches.ofProject(projectId).length, branchLimits[plan], "BRANCHES");
  const id = freshBranchId(world);
  requireFreeName(world, projectId, name ?? id);
  const branch = addBranch(world, {
    id,
    projectId,
    name: name ?? id,
    parentId: undefined,
    restoredFrom: snapshotId,
    primary: false,
    protected: false,
  });
  const contents = putContents(world, branch, snapshot);
  const step = { projectId, branchId: id, endpointId: undefined, action: "create_branch" } as const;
  return { branch, endpoints: [], ...contents, operations: startWork(world, [step]) };
}
