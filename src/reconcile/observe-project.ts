/** Reads operations and endpoints of a project, and updates the project memory. */

import type { Clock } from "../domain/clock.ts";
import type { ControlPlane, Mutation } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ObservedEndpoint, ProjectSnapshot, ReadById } from "../domain/endpoint.ts";
import { holdsProjectLock, type Operation } from "../domain/operation.ts";
import type { OperationsSnapshot } from "../operations/known-operations.ts";
import { type HistoryRange, historyRangeOf } from "../operations/watermark.ts";
import { inParallel } from "./in-parallel.ts";
import type { KindLook } from "./ports.ts";
import type { ProjectMemory } from "./project-memory.ts";
import type { Round } from "./round.ts";

/** The calls of the control plane that only read. */
export type ControlPlaneReads = Pick<ControlPlane, "listEndpoints" | "getEndpoint" | "listOperations" | "getOperation">;

/** The clock and the calls with which a project is read. */
export interface ReadContext {
  readonly clock: Clock;
  readonly controlPlane: ControlPlaneReads;
}

/**
 * Reads the operations of the project. It lists the endpoints at a poll, and if the project memory holds no list.
 * @throws ControlPlaneError
 */
export async function observeProject(
  context: ReadContext,
  round: Round,
  isPoll: boolean,
): Promise<Pick<KindLook, "operations" | "snapshot">> {
  const { project } = round;
  const ranges = round.worked
    .filter((worked) => round.isObservable(worked))
    .flatMap(({ resource: { uid, status } }) => historyRangeOf(uid, status.operationWatermark) ?? []);
  expectOwnOperations(round);
  const operations = await readOperations(context, project, ranges);
  const known = isPoll ? undefined : project.snapshot;
  return { operations, snapshot: known ?? (await readEndpoints(context, project)) };
}

/**
 * Adds the unfinished operations of our own calls to the operations that the reader awaits. A new process knows them
 * only from status.
 */
function expectOwnOperations({ worked, project }: Round): void {
  for (const { resource } of worked) {
    for (const { id, cause, durationMilliseconds } of resource.status.operations ?? []) {
      if (cause === "SpecChange" && durationMilliseconds === undefined) {
        project.operations.expect(id);
      }
    }
  }
}

/** The maximum number of endpoints that one reconcile reads by id. */
export const readsByIdLimit = 20;

const readsAtOnce = 4;

/**
 * Reads the operations of a project. Call it before the endpoints are read. Otherwise an endpoint may be older than the
 * end of its operation, and would look like drift.
 * @throws ControlPlaneError
 */
export async function readOperations(
  { clock, controlPlane }: ReadContext,
  project: ProjectMemory,
  ranges: readonly HistoryRange[],
): Promise<OperationsSnapshot> {
  const { projectId, serviceTime } = project;
  const serviceTimeMs = serviceTime?.source === "DateHeader" ? serviceTime.timeMs : undefined;
  const startedAtMs = clock.monotonicMs();
  const snapshot = await project.operations.read(controlPlane, { projectId, ranges, serviceTimeMs });
  project.operationsReadAtMs = startedAtMs;
  noteNewestOperation(project, snapshot, clock.monotonicMs());
  noteLockHolders(project, snapshot, clock.monotonicMs());
  return snapshot;
}

/** Takes the control plane's time from its newest operation, if answers have no `Date` header. */
function noteNewestOperation(project: ProjectMemory, { newestListedTime }: OperationsSnapshot, nowMs: number): void {
  const { serviceTime: known } = project;
  const timeMs = Date.parse(newestListedTime ?? "");
  const isLater = known === undefined || (known.source === "Operation" && timeMs > known.timeMs + nowMs - known.atMs);
  if (Number.isFinite(timeMs) && isLater) {
    project.serviceTime = { timeMs, atMs: nowMs, source: "Operation" };
  }
}

/**
 * Remembers the operations that lock the project, and since when it has been locked without a pause. Operations that no
 * list shows, and whose reads by id have failed for 60 s, do not count.
 */
function noteLockHolders({ lockHolders }: ProjectMemory, snapshot: OperationsSnapshot, nowMs: number): void {
  const holders = snapshot.operations.filter(({ id }) => !snapshot.lostIds.has(id)).filter(holdsProjectLock);
  const ids = new Set(holders.map(({ id }) => id));
  // Operations that follow each other without a pause count as one lock of the project.
  const lockedSinceMs = Math.min(nowMs, ...lockHolders.values());
  for (const id of [...lockHolders.keys()].filter((known) => !ids.has(known))) {
    lockHolders.delete(id);
  }
  for (const id of ids) {
    lockHolders.set(id, lockHolders.get(id) ?? lockedSinceMs);
  }
}

/** Lists the endpoints of a project, and keeps the list as the project's snapshot. @throws ControlPlaneError */
export async function readEndpoints(
  { clock, controlPlane }: ReadContext,
  project: ProjectMemory,
): Promise<ProjectSnapshot> {
  const startedAtMs = clock.monotonicMs();
  project.snapshot = undefined;
  const list = await controlPlane.listEndpoints(project.projectId);
  const endpoints = new Map(list.endpoints.map((endpoint) => [endpoint.id, endpoint]));
  const snapshot: ProjectSnapshot = {
    projectId: project.projectId,
    startedAtMs,
    serviceTimeMs: list.serviceTimeMs,
    endpoints,
    unreadableIds: list.unreadableIds,
    unreadableNames: list.unreadableNames ?? [],
    readsById: new Map(),
    echoesNames: seesNames(project, list.endpoints),
  };
  project.snapshot = snapshot;
  project.hasBeenRead = true;
  if (list.serviceTimeMs !== undefined) {
    project.serviceTime = { timeMs: list.serviceTimeMs, atMs: clock.monotonicMs(), source: "DateHeader" };
  }
  return snapshot;
}

/** Whether the control plane has ever shown the name of an endpoint, in these endpoints or before. */
function seesNames({ shared }: ProjectMemory, endpoints: readonly ObservedEndpoint[]): boolean {
  shared.hasSeenNames ||= endpoints.some(({ name }) => name !== undefined);
  return shared.hasSeenNames;
}

/** The result of reading endpoints by id. */
interface ReadsById {
  readonly snapshot: ProjectSnapshot;
  /** The errors of failed reads, by endpoint id. One failed read does not stop the others. */
  readonly errors: ReadonlyMap<string, ControlPlaneError>;
}

/** Reads these endpoints by id, and returns a snapshot that contains the answers. */
export async function readById(
  { clock, controlPlane }: ReadContext,
  snapshot: ProjectSnapshot,
  endpointIds: readonly string[],
): Promise<ReadsById> {
  const reads = new Map<string, ReadById>(snapshot.readsById);
  const errors = new Map<string, ControlPlaneError>();
  await inParallel(endpointIds, readsAtOnce, async (endpointId) => {
    const startedAtMs = clock.monotonicMs();
    try {
      const endpoint = await controlPlane.getEndpoint(snapshot.projectId, endpointId);
      reads.set(endpointId, { startedAtMs, endpoint });
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      errors.set(endpointId, error);
    }
  });
  return { snapshot: { ...snapshot, readsById: reads }, errors };
}

/**
 * Updates the snapshot after a write of ours. The answer shows the endpoint as it is now. After a write without an
 * answer, or after a DELETE, the snapshot is not used any more.
 */
export function noteWrite(
  project: ProjectMemory,
  answer: Mutation | undefined,
  { isDelete }: { readonly isDelete: boolean },
): void {
  const { snapshot } = project;
  if (answer === undefined || isDelete || snapshot === undefined) {
    project.snapshot = undefined;
  } else {
    const endpoints = new Map(snapshot.endpoints).set(answer.endpoint.id, answer.endpoint);
    const readsById = new Map(snapshot.readsById);
    readsById.delete(answer.endpoint.id);
    project.snapshot = { ...snapshot, endpoints, readsById, echoesNames: seesNames(project, [answer.endpoint]) };
  }
}

/** Remembers operations that a write of ours started, because they lock the project. */
export function noteStarted(project: ProjectMemory, started: readonly Operation[], nowMs: number): void {
  project.operations.noteAnswer(started);
  for (const { id } of started.filter(holdsProjectLock)) {
    project.lockHolders.set(id, nowMs);
  }
}
