/** Reads operations and endpoints of a project, and updates what the process remembers of the project. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlane } from "../domain/control-plane.ts";
import type { ObservedEndpoint, ProjectSnapshot } from "../domain/endpoint.ts";
import { holdsProjectLock, type Operation } from "../domain/operation.ts";
import type { HistoryRange, OperationsSnapshot } from "../operations/reader.ts";
import type { ProjectMemory } from "./memory.ts";

export interface ReadContext {
  readonly clock: Clock;
  readonly controlPlane: Pick<ControlPlane, "listEndpoints" | "getEndpoint" | "listOperations" | "getOperation">;
}

/**
 * How long the operator waits for a locked project, in milliseconds. After that it sends changes although the control
 * plane may answer 423.
 */
export const lockPatienceMs = 60_000;

/** The maximum number of endpoints that one reconcile reads by id. */
const readsByIdLimit = 20;

/** What one reconcile has read of its project. */
export class ProjectReads {
  operations: OperationsSnapshot;
  readonly #context: ReadContext;
  readonly #project: ProjectMemory;
  readonly #readsById = new Map<string, Promise<void>>();
  /** The endpoints. `undefined`: an operation locks the project, so nothing can be changed and they were not listed. */
  snapshot: ProjectSnapshot | undefined;

  constructor(
    context: ReadContext,
    project: ProjectMemory,
    read: { readonly operations: OperationsSnapshot; readonly snapshot: ProjectSnapshot | undefined },
  ) {
    this.#context = context;
    this.#project = project;
    this.operations = read.operations;
    this.snapshot = read.snapshot;
  }

  /** Takes up operations that the answer to a change has named. */
  noteAnswer(): void {
    this.operations = this.#project.operations.snapshot();
  }

  /** How long this process has seen operations lock the project without a pause, in milliseconds. */
  lockedForMs(nowMs: number): number {
    return Math.max(0, nowMs - (this.#project.lockedSinceMs ?? nowMs));
  }

  /** The oldest operation that locks the project. */
  get lockHolder(): Operation | undefined {
    return this.operations.operations.findLast(holdsProjectLock);
  }

  /**
   * Reads an endpoint by id, once in a reconcile. @throws ControlPlaneError
   * @returns whether the snapshot shows the result; false: not in this reconcile
   */
  async readById(endpointId: string): Promise<boolean> {
    const known = this.#readsById.get(endpointId);
    if (known === undefined && (this.snapshot === undefined || this.#readsById.size >= readsByIdLimit)) {
      return false;
    }
    const read = known ?? this.#readById(endpointId);
    this.#readsById.set(endpointId, read);
    await read;
    return true;
  }

  async #readById(endpointId: string): Promise<void> {
    const endpoint = await this.#context.controlPlane.getEndpoint(this.#project.projectId, endpointId);
    const { snapshot: latest } = this;
    if (latest === undefined) return;
    const endpoints = new Map(latest.endpoints);
    endpoints.delete(endpointId);
    if (endpoint !== undefined) endpoints.set(endpointId, endpoint);
    this.snapshot = { ...latest, endpoints, readsById: new Set(latest.readsById).add(endpointId) };
  }
}

/**
 * Reads the operations of the project. If none of them locks it, the endpoints are listed after that: otherwise an
 * endpoint may be older than the end of its operation, and would look like drift.
 * @throws ControlPlaneError
 */
export async function readProject(
  context: ReadContext,
  project: ProjectMemory,
  ranges: readonly HistoryRange[],
): Promise<ProjectReads> {
  const { clock, controlPlane } = context;
  const { projectId } = project;
  const startedAtMs = clock.monotonicMs();
  const operations = await project.operations.read(controlPlane, projectId, ranges);
  project.operationsReadAtMs = startedAtMs;
  const nowMs = clock.monotonicMs();
  const isLocked = operations.operations.some(holdsProjectLock);
  project.lockedSinceMs = isLocked ? (project.lockedSinceMs ?? nowMs) : undefined;
  const snapshot = isLockAwaited(project, nowMs) ? undefined : await listEndpoints(context, projectId);
  return new ProjectReads(context, project, { operations, snapshot });
}

async function listEndpoints({ clock, controlPlane }: ReadContext, projectId: string): Promise<ProjectSnapshot> {
  const startedAtMs = clock.monotonicMs();
  const { endpoints, unreadableIds } = await controlPlane.listEndpoints(projectId);
  return {
    startedAtMs,
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
    unreadableIds,
    readsById: new Set(),
    echoesNames: endpoints.some(({ name }) => name !== undefined),
  };
}

/** Whether operations lock the project, and have done so for less than `lockPatienceMs`. */
export function isLockAwaited({ lockedSinceMs }: Pick<ProjectMemory, "lockedSinceMs">, nowMs: number): boolean {
  return lockedSinceMs !== undefined && nowMs - lockedSinceMs < lockPatienceMs;
}

/** Remembers operations that a write of ours started, because they lock the project. */
export function noteStarted(project: ProjectMemory, started: readonly Operation[], nowMs: number): void {
  project.operations.noteAnswer(started);
  if (started.some(holdsProjectLock)) project.lockedSinceMs ??= nowMs;
}

/** What list and reads by id show of one endpoint. By id is the truth. */
type RemoteState =
  /** A read by id shows the endpoint. */
  | { readonly kind: "Present"; readonly endpoint: ObservedEndpoint }
  /** Only the list shows the endpoint. That proves no more than that nothing is to be done. */
  | { readonly kind: "Listed"; readonly endpoint: ObservedEndpoint }
  /** A read by id was answered 404, after the project was listed. */
  | { readonly kind: "Absent" }
  /** The list does not show the endpoint, and no read by id was answered. */
  | { readonly kind: "Unknown" };

export function remoteStateOf({ endpoints, readsById }: ProjectSnapshot, endpointId: string): RemoteState {
  const endpoint = endpoints.get(endpointId);
  if (readsById.has(endpointId)) {
    return endpoint === undefined ? { kind: "Absent" } : { kind: "Present", endpoint };
  }
  return endpoint === undefined ? { kind: "Unknown" } : { kind: "Listed", endpoint };
}
