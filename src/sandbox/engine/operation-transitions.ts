/** Moves operations from one status to the next when they are due. */
import { armOperationTimer, unfinishedWork } from "./operations.ts";
import type { WorkOutcome } from "./real-work.ts";
import type { EndpointRecord, OperationRecord } from "./records.ts";
import { armAutoSuspend } from "./timers.ts";
import { noteRunEnded } from "./usage.ts";
import type { World } from "./world.ts";

export function advanceOperation(world: World, operationId: string): void {
  world.store.timers.remove(`operation ${operationId}`);
  const operation = world.store.operations.get(operationId);
  if (operation === undefined) return;
  if (operation.status === "scheduling") {
    // An earlier operation takes longer than planned. When it ends, the timer of this one is set again.
    if (world.work.isReal && earlierSiblings(world, operation).length > 0) return;
    armOperationTimer(world, world.saveOperation({ ...operation, status: "running", updatedMs: world.nowMs }));
    return;
  }
  const outcome = world.work.outcomeOf(operation);
  // The real work takes longer than planned. When the work ends, the timer of this operation is set again.
  if (outcome === undefined) return;
  const ended = world.saveOperation({ ...operation, ...outcomeFields(operation, outcome), updatedMs: world.nowMs });
  world.work.forget(operationId);
  if (world.work.isReal) delayFollowers(world, ended);
  if (ended.status === "finished" && makesBranch(ended)) {
    const branch = world.store.branches.get(ended.branchId);
    if (branch !== undefined) world.store.branches.put({ ...branch, state: "ready", updatedMs: world.nowMs });
  }
  if (ended.action === "check_availability" || ended.endpointId === undefined) return;
  const endpoint = world.store.endpoints.get(ended.endpointId);
  if (endpoint !== undefined) settleEndpoint(world, endpoint, ended);
}

function makesBranch({ action }: OperationRecord): boolean {
  return action === "create_branch" || action === "create_timeline";
}

/** The operation ends now, or at its planned time if that is later. */
export function noteWorkEnded(world: World, operationId: string): void {
  const operation = world.store.operations.get(operationId);
  if (operation?.status !== "running") {
    world.work.forget(operationId);
    return;
  }
  const endsAtMs = Math.max(operation.endsAtMs, world.nowMs);
  armOperationTimer(
    world,
    endsAtMs === operation.endsAtMs ? operation : world.saveOperation({ ...operation, endsAtMs }),
  );
}

/** Sets the timers of all unfinished operations again, and begins the real work of running ones. */
export function resumeWork(world: World): void {
  if (!world.work.isReal) return;
  for (const operation of world.store.export().operations) {
    if (operation.status !== "scheduling" && operation.status !== "running") continue;
    armOperationTimer(world, operation);
    queueMicrotask(() => world.beginWork(operation.id));
  }
}

function earlierSiblings(world: World, operation: OperationRecord) {
  const { projectId, sequence, action } = operation;
  if (action === "check_availability") return [];
  return [...world.store.operations.unfinishedOfProject(projectId)].filter(
    (other) => isSibling(operation, other) && other.sequence < sequence && other.action !== "check_availability",
  );
}

/** The later one must wait. The operations of one request have the same `createdMs`. */
function isSibling(one: OperationRecord, other: OperationRecord): boolean {
  const isSameEndpoint = one.endpointId !== undefined && one.endpointId === other.endpointId;
  return one.createdMs === other.createdMs || isSameEndpoint;
}

/** Gives waiting operations new times, because the operation before them has ended late. */
function delayFollowers(world: World, ended: OperationRecord): void {
  const { projectId, sequence } = ended;
  const followers = [...world.store.operations.unfinishedOfProject(projectId)]
    .filter((other) => isSibling(ended, other) && other.sequence > sequence && other.status === "scheduling")
    .sort((a, b) => a.sequence - b.sequence);
  let freeFromMs = world.nowMs;
  for (const follower of followers) {
    const runsAtMs = Math.max(follower.runsAtMs, freeFromMs);
    const endsAtMs = runsAtMs + follower.endsAtMs - follower.runsAtMs;
    armOperationTimer(world, world.saveOperation({ ...follower, runsAtMs, endsAtMs }));
    freeFromMs = endsAtMs;
  }
}

function outcomeFields(
  { failuresCount }: OperationRecord,
  { error }: WorkOutcome,
): Pick<OperationRecord, "status" | "failuresCount" | "error"> {
  return error === undefined
    ? { status: "finished", failuresCount, error }
    : { status: "failed", failuresCount: failuresCount + 1, error };
}

/** After a failure the compute keeps its state. After the last operation, `init` becomes `idle`. */
function settleEndpoint(world: World, endpoint: EndpointRecord, ended: OperationRecord): void {
  const isLast = unfinishedWork(world, endpoint.id).length === 0;
  let after = ended.status === "finished" ? carriedOut(endpoint, ended, world.nowMs) : endpoint;
  if (endpoint.state === "active" && after.state === "idle") noteRunEnded(world, endpoint);
  if (isLast) after = { ...after, pendingState: undefined, state: after.state === "init" ? "idle" : after.state };
  if (after.state !== endpoint.state || after.pendingState !== endpoint.pendingState) {
    after = world.saveEndpoint({ ...after, updatedMs: world.nowMs });
  }
  if (isLast && after.state === "active") armAutoSuspend(world, after);
}

function carriedOut(endpoint: EndpointRecord, ended: OperationRecord, nowMs: number): EndpointRecord {
  if (ended.action === "start_compute" && endpoint.state !== "active") {
    return { ...endpoint, state: "active", startedMs: nowMs, lastActiveMs: nowMs, suspendedMs: undefined };
  }
  if (ended.action === "suspend_compute" && endpoint.state === "active") {
    return { ...endpoint, state: "idle", suspendedMs: nowMs };
  }
  return endpoint;
}
