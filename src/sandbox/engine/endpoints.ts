/** Endpoints: how requests and connecting clients create, change, start and suspend them. */
import {
  changed,
  type EndpointChanges,
  type EndpointCreation,
  isSame,
  newConfig,
  planUpdate,
  requireAllowed,
} from "./endpoint-changes.ts";
import type { FileCacheUse } from "./file-cache.ts";
import { wordyId } from "./identifiers.ts";
import { type Course, requireUnlocked, startOperations, unfinishedWork } from "./operations.ts";
import type { Action, Changed, EndpointRecord, OperationRecord, PendingState, ProjectRecord } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { regionHost } from "./settings.ts";
import { armAutoSuspend, armAvailabilityCheck, disarm } from "./timers.ts";
import { noteRunEnded } from "./usage.ts";
import type { World } from "./world.ts";

export type Mutation = Changed<"endpoint", EndpointRecord>;

/**
 * Creates an endpoint, and starts start_compute, or apply_config if the endpoint is disabled.
 * @throws Refusal NotFound (project), Locked, NotFound (branch), NotAllowed (type), Conflict, Invalid or NotAllowed
 *   (size); in this order
 */
export function createEndpoint(world: World, projectId: string, creation: EndpointCreation): Mutation {
  const project = world.project(projectId);
  requireUnlocked(world, projectId);
  world.branch(projectId, creation.branchId);
  const endpoint = addEndpoint(world, project, creation);
  const action: Action = endpoint.disabled ? "apply_config" : "start_compute";
  return { endpoint, operations: begin(world, endpoint, [action]) };
}

/**
 * Adds the record of a new endpoint, and starts no operation. The branch must exist.
 * @throws Refusal Conflict, NotAllowed, Invalid
 */
export function addEndpoint(world: World, project: ProjectRecord, creation: EndpointCreation): EndpointRecord {
  requireTypeAllowed(world, project, creation.type);
  if (creation.type === "read_write") requireNoReadWrite(world, creation.branchId);
  const endpoint = world.saveEndpoint(newEndpoint(world, project, creation));
  armAvailabilityCheck(world, endpoint.branchId);
  return endpoint;
}

export function requireTypeAllowed(
  { store, profile }: World,
  { id, plan }: ProjectRecord,
  type: EndpointRecord["type"],
): void {
  if (type === "read_write" || plan === "paid") return;
  const { readReplicas } = profile.freePlan;
  const present = store.endpoints.ofProject(id).filter((endpoint) => endpoint.type === "read_only").length;
  if (present < readReplicas) return;
  const message =
    readReplicas === 0 ? "read replicas need a paid plan" : `the free plan has ${readReplicas} read replicas`;
  throw new Refusal("NotAllowed", message, "READ_ONLY_ENDPOINTS_LIMIT_EXCEEDED");
}

function newEndpoint(world: World, project: ProjectRecord, { type, ...changes }: EndpointCreation): EndpointRecord {
  const config = newConfig(changes.branchId, changes, project.endpointDefaults);
  requireAllowed(config, project.plan, world.profile);
  return placeEndpoint(world, project, {
    ...config,
    type,
    state: "init",
    pendingState: config.disabled ? "idle" : "active",
  });
}

/** The first 65,000 endpoints get different loopback addresses. */
function hostOf({ store, settings }: World, name: string): string {
  if (settings.addressBlock === undefined) return name;
  const index = (store.counters.get("address") % 65_000) + 1;
  store.counters.set("address", index);
  return `127.${settings.addressBlock}.${index >> 8}.${index & 255}`;
}

/** The address for pooled connections is 64 blocks further. `undefined`: the endpoint's host is a name. */
export function pooledAddress(host: string): string | undefined {
  const [, block, rest] = /^127\.(\d+)(\.\d+\.\d+)$/.exec(host) ?? [];
  return block === undefined ? undefined : `127.${Number(block) + 64}${rest}`;
}

/** Completes the record of a new endpoint with the fields that the control plane chooses: id, host names, times. */
export function placeEndpoint(
  world: World,
  project: ProjectRecord,
  given: Pick<EndpointRecord, "type" | "state" | "pendingState"> &
    Parameters<typeof requireAllowed>[0] & { readonly id?: string | undefined },
): EndpointRecord {
  const id = given.id ?? freshEndpointId(world);
  const proxyHost = regionHost(project.regionId, world.settings.hostSuffix);
  return {
    ...given,
    id,
    sequence: world.nextSequence(),
    projectId: project.id,
    regionId: project.regionId,
    host: hostOf(world, `${id}.${proxyHost}`),
    proxyHost,
    lastActiveMs: undefined,
    startedMs: undefined,
    suspendedMs: undefined,
    createdMs: world.nowMs,
    updatedMs: world.nowMs,
  };
}

/**
 * Changes an endpoint. If no field differs, no operation starts.
 * @throws Refusal NotFound (endpoint), Locked, NotFound (new branch), Conflict (new branch), Invalid or NotAllowed
 *   (size); in this order
 */
export function updateEndpoint(
  world: World,
  projectId: string,
  { endpointId, changes }: { readonly endpointId: string; readonly changes: EndpointChanges },
): Mutation {
  const before = world.endpoint(projectId, endpointId);
  requireUnlocked(world, projectId);
  const after = changed(before, changes);
  if (isSame(before, after)) return { endpoint: before, operations: [] };
  if (after.branchId !== before.branchId) requireFreeBranch(world, projectId, after.branchId);
  requireAllowed(after, world.project(projectId).plan, world.profile);
  const { actions, course, pendingState } = planUpdate(before, after);
  const isResized = before.state === "active" && before.minUnits !== after.minUnits;
  // The time before counts with the former size.
  if (isResized) noteRunEnded(world, before);
  const run = isResized ? { startedMs: world.nowMs } : {};
  const endpoint = world.saveEndpoint({ ...after, ...run, pendingState, updatedMs: world.nowMs });
  if (endpoint.state === "active") armAutoSuspend(world, endpoint);
  armAvailabilityCheck(world, endpoint.branchId);
  return { endpoint, operations: startOperations(world, subjectOf(endpoint), { actions, course }) };
}

/** Deletes the endpoint at once. @throws Refusal NotFound, Locked, NotAllowed (its branch is protected) */
export function deleteEndpoint(world: World, projectId: string, endpointId: string): Mutation {
  const endpoint = world.endpoint(projectId, endpointId);
  requireUnlocked(world, projectId);
  if (world.store.branches.get(endpoint.branchId)?.protected === true) {
    throw new Refusal("NotAllowed", "an endpoint of a protected branch cannot be deleted");
  }
  dropEndpoint(world, endpoint);
  const operations = endpoint.state === "active" ? begin(world, endpoint, ["suspend_compute"]) : [];
  return { endpoint: { ...endpoint, pendingState: undefined }, operations };
}

/** If its compute is active, the caller must start the operation that suspends the compute. */
export function dropEndpoint(world: World, endpoint: EndpointRecord): void {
  noteRunEnded(world, endpoint);
  world.removeEndpoint(endpoint);
  disarm(world, "autoSuspend", endpoint.id);
}

export function startEndpoint(world: World, projectId: string, endpointId: string): Mutation {
  const endpoint = world.endpoint(projectId, endpointId);
  requireUnlocked(world, projectId);
  if (endpoint.disabled) throw new Refusal("NotAllowed", "endpoint is disabled");
  if (endpoint.state === "active") {
    return { endpoint: world.saveEndpoint({ ...endpoint, lastActiveMs: world.nowMs }), operations: [] };
  }
  return moveTo(world, endpoint, { pendingState: "active", actions: ["start_compute"] });
}

export function suspendEndpoint(world: World, projectId: string, endpointId: string): Mutation {
  const endpoint = world.endpoint(projectId, endpointId);
  requireUnlocked(world, projectId);
  if (endpoint.state !== "active") return { endpoint, operations: [] };
  return moveTo(world, endpoint, { pendingState: "idle", actions: ["suspend_compute"] });
}

export function restartEndpoint(world: World, projectId: string, endpointId: string): Mutation {
  const endpoint = world.endpoint(projectId, endpointId);
  requireUnlocked(world, projectId);
  if (endpoint.state !== "active") throw new Refusal("NotAllowed", "only an active endpoint can be restarted");
  return moveTo(world, endpoint, { pendingState: "active", actions: ["suspend_compute", "start_compute"] });
}

function moveTo(
  world: World,
  endpoint: EndpointRecord,
  { pendingState, actions }: { readonly pendingState: PendingState; readonly actions: readonly Action[] },
): Mutation {
  const moving = world.saveEndpoint({ ...endpoint, pendingState, updatedMs: world.nowMs });
  return { endpoint: moving, operations: begin(world, moving, actions) };
}

function begin(world: World, endpoint: EndpointRecord, actions: readonly Action[]): readonly OperationRecord[] {
  return startOperations(world, subjectOf(endpoint), { actions });
}

export function subjectOf({ projectId, branchId, id }: EndpointRecord): Parameters<typeof startOperations>[1] {
  return { projectId, branchId, endpointId: id };
}

function requireNoReadWrite(world: World, branchId: string): void {
  if (world.store.endpoints.ofBranch(branchId).some(({ type }) => type === "read_write")) {
    throw new Refusal("Conflict", "read_write endpoint already exists");
  }
}

function requireFreeBranch(world: World, projectId: string, branchId: string): void {
  world.branch(projectId, branchId);
  requireNoReadWrite(world, branchId);
  if (world.store.endpoints.ofBranch(branchId).length > 0) {
    throw new Refusal("Conflict", "the branch already has an endpoint");
  }
}

function freshEndpointId(world: World): string {
  for (;;) {
    const id = wordyId("ep-", world.draw);
    if (world.store.endpoints.get(id) === undefined) return id;
  }
}

export function anyEndpoint(world: World, endpointId: string): EndpointRecord {
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint === undefined) throw new Refusal("NotFound", "endpoint not found");
  return endpoint;
}

/**
 * Must be called when a client connects to a database. A connection is no request of the API, so the project lock does
 * not matter. The connection starts an idle compute, and counts as activity of an active compute. If the compute is
 * being suspended, the connection queues a start. If the compute is starting already, nothing changes.
 * @throws Refusal NotFound, NotAllowed (disabled)
 */
export function connectTo(world: World, endpointId: string, use: FileCacheUse | undefined): Mutation {
  const endpoint = anyEndpoint(world, endpointId);
  if (endpoint.disabled) throw new Refusal("NotAllowed", "endpoint is disabled");
  const lastMove = unfinishedWork(world, endpointId).findLast(movesCompute)?.action;
  if (lastMove === "suspend_compute") return wake(world, endpoint, "queued");
  if (endpoint.state === "active") {
    const seen = world.saveEndpoint({ ...endpoint, lastActiveMs: world.nowMs });
    armAutoSuspend(world, seen);
    if (use !== undefined) world.fileCaches.add(seen, use);
    return { endpoint: seen, operations: [] };
  }
  return lastMove === undefined ? wake(world, endpoint, "sequence") : { endpoint, operations: [] };
}

function wake(world: World, endpoint: EndpointRecord, course: Course): Mutation {
  const woken = world.saveEndpoint({ ...endpoint, pendingState: "active", updatedMs: world.nowMs });
  return {
    endpoint: woken,
    operations: startOperations(world, subjectOf(woken), { actions: ["start_compute"], course }),
  };
}

/** Sets an active endpoint whose server has ended to idle, without an operation. */
export function loseCompute(world: World, endpointId: string): void {
  const endpoint = world.store.endpoints.get(endpointId);
  if (endpoint?.state !== "active") return;
  disarm(world, "autoSuspend", endpointId);
  noteRunEnded(world, endpoint);
  world.saveEndpoint({ ...endpoint, state: "idle", suspendedMs: world.nowMs, updatedMs: world.nowMs });
}

/** Whether an operation starts or stops a compute; apply_config does neither. */
function movesCompute({ action }: OperationRecord): boolean {
  return action === "start_compute" || action === "suspend_compute";
}
