/** Reads operations and endpoints of a project, and updates the project memory. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import { holdsProjectLock, type Operation } from "../domain/operation.ts";
import { parseMark } from "../operations/counting.ts";
import type { HistoryRange } from "../operations/reader.ts";
import type { OperationsSnapshot } from "../operations/snapshot.ts";
import { inParallel } from "./in-parallel.ts";
import type { KindLook } from "./ports.ts";
import type { ProjectMemory } from "./project-memory.ts";
import type { Round } from "./round.ts";
import { lockHolderOf } from "./schedule.ts";

export type ControlPlaneReads = Pick<ControlPlane, "listEndpoints" | "getEndpoint" | "listOperations" | "getOperation">;

export interface ReadContext {
  readonly clock: Clock;
  readonly controlPlane: ControlPlaneReads;
}

/**
 * Reads the operations of the project, and lists its endpoints. While an operation locks the project, the last list is
 * enough, because nothing is decided from it that changes anything.
 * @throws ControlPlaneError
 */
export async function observeProject(
  context: ReadContext,
  round: Round,
): Promise<Pick<KindLook, "operations" | "snapshot">> {
  const { project } = round;
  // A resource whose records are not proven its own counts nothing, so its watermark would never move.
  const ranges = round.worked
    .filter((worked) => round.isObservable(worked))
    .flatMap(({ resource: { status } }) => parseMark(status.operationWatermark) ?? []);
  const operations = await readOperations(context, project, ranges);
  const isLocked = lockHolderOf(project, context.clock.monotonicMs()) !== undefined;
  const known = isLocked ? project.snapshot : undefined;
  return { operations, snapshot: known ?? (await readEndpoints(context, project)) };
}

/** The maximum number of endpoints that one reconcile reads by id. */
export const readsByIdLimit = 20;

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
  const { projectId } = project;
  const startedAtMs = clock.monotonicMs();
  const snapshot = await project.operations.read(controlPlane, projectId, ranges);
  project.operationsReadAtMs = startedAtMs;
  noteLockHolders(project, snapshot, clock.monotonicMs());
  return snapshot;
}

function noteLockHolders({ lockHolders }: ProjectMemory, snapshot: OperationsSnapshot, nowMs: number): void {
  const holders = snapshot.operations.filter(holdsProjectLock);
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
    endpoints,
    unreadableIds: list.unreadableIds,
    readsById: new Set(),
    echoesNames: list.endpoints.some(({ name }) => name !== undefined),
  };
  project.snapshot = snapshot;
  return snapshot;
}

interface ReadsById {
  readonly snapshot: ProjectSnapshot;
  /** The errors of failed reads, by endpoint id. One failed read does not stop the others. */
  readonly errors: ReadonlyMap<string, ControlPlaneError>;
}

export async function readById(
  { controlPlane }: ReadContext,
  snapshot: ProjectSnapshot,
  endpointIds: readonly string[],
): Promise<ReadsById> {
  const readsById = new Set(snapshot.readsById);
  const endpoints = new Map(snapshot.endpoints);
  const errors = new Map<string, ControlPlaneError>();
  await inParallel(endpointIds, async (endpointId) => {
    try {
      const endpoint = await controlPlane.getEndpoint(snapshot.projectId, endpointId);
      readsById.add(endpointId);
      if (endpoint === undefined) {
        endpoints.delete(endpointId);
      } else {
        endpoints.set(endpointId, endpoint);
      }
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      errors.set(endpointId, error);
    }
  });
  return { snapshot: { ...snapshot, endpoints, readsById }, errors };
}

/** Remembers operations that a write of ours started, because they lock the project. */
export function noteStarted(project: ProjectMemory, started: readonly Operation[], nowMs: number): void {
  project.operations.noteAnswer(started);
  for (const { id } of started.filter(holdsProjectLock)) {
    project.lockHolders.set(id, nowMs);
  }
}
