import { armAutoSuspend } from "./auto-suspend.ts";
import { armOperationTimer, unfinishedWork } from "./operations.ts";
import type { EndpointRecord, OperationRecord } from "./records.ts";
import type { World } from "./world.ts";

/** Moves an operation whose time has come one status on: scheduling → running → finished or failed. */
export function advanceOperation(world: World, operationId: string): void {
  world.store.timers.remove(`operation ${operationId}`);
  const operation = world.store.operations.get(operationId);
  if (operation === undefined) return;
  if (operation.status === "scheduling") {
    armOperationTimer(world, world.saveOperation({ ...operation, status: "running", updatedMs: world.nowMs }));
    return;
  }
  const ended = world.saveOperation({ ...operation, ...outcomeOf(operation), updatedMs: world.nowMs });
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

function outcomeOf(operation: OperationRecord): Pick<OperationRecord, "status" | "failuresCount" | "error"> {
  const { failuresCount, plannedError: error } = operation;
  return error === undefined
    ? { status: "finished", failuresCount, error }
    : { status: "failed", failuresCount: failuresCount + 1, error };
}

/** What the end of an operation does to its endpoint. A failed one leaves the compute where it was, never in `init`. */
function settleEndpoint(world: World, endpoint: EndpointRecord, ended: OperationRecord): void {
  const isLast = unfinishedWork(world, endpoint.id).length === 0;
  let after = ended.status === "finished" ? carriedOut(endpoint, ended, world.nowMs) : endpoint;
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
