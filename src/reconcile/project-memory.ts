/** The project memory: what this process remembers of the projects of a control plane. */
import type { FailureRow, ResourceMemory } from "../decide/observation.ts";
import type { Clock } from "../domain/clock.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { OperationsAge } from "../domain/operation.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { CountedOperation } from "../operations/counting.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import { type ComputeEndpoint, noProject } from "../resource/compute-endpoint.ts";

/**
 * What this process remembers of one project. A restart may lose all of it at any moment. Everything that must survive
 * is stored in a resource's status before the operator relies on it. All times are monotonic milliseconds.
 */
export interface ProjectMemory {
  readonly projectId: string;
  readonly operations: ProjectOperations;
  readonly resources: Map<string, ResourceEntry>;
  /**
   * The mark of the API key with which this process last listed the project (`keyMark`). `undefined`: it never did, or
   * that is forgotten. Then a 404 does not prove that the project is gone.
   */
  listedWith: string | undefined;
  /** Whether the last reconcile worked on resources of further kinds. */
  hasFurtherResources: boolean;
  /** The last snapshot of the endpoints. `undefined`: none was read yet, or the last list failed. */
  snapshot: ProjectSnapshot | undefined;
  /**
   * When the last complete read of the operations began. Before the first read: when this process first saw the
   * project.
   */
  operationsReadAtMs: number;
  /** The grants of the resources, and why the control plane cannot be used. With others the resources are due. */
  standing: string | undefined;
  /** When the next poll is due, if nothing changes until then. */
  nextPollAtMs: number;
  /** The last change of the project that the control plane accepted. */
  lastChange: { readonly namespace: string; readonly atMs: number } | undefined;
  /** No change is sent before this time, because the control plane refused one with 423. */
  lockedUntilMs: number;
  /**
   * Operations that lock the project, by id: since when this process has seen the project locked, in monotonic
   * milliseconds. Operations that follow each other without a pause count as one lock, and share its begin.
   */
  readonly lockHolders: Map<string, number>;
  /**
   * The series of failed reads of the project; `undefined`: the last read succeeded. The project is read again only at
   * `retryAtMs`, or earlier if a person acts after a refusal.
   */
  readFailure: FailureRow | undefined;
  /** Ids of orphans in the last snapshot: endpoints with this cluster's token that belong to no resource. */
  orphanIds: ReadonlySet<string>;
}

export interface ResourceEntry {
  readonly key: ResourceKey;
  memory: ResourceMemory;
  /** The resourceVersion after the last reconcile of the resource. With another one, or a forgotten one, it is due. */
  version: string | undefined;
  /** When the resource is due although it did not change. Forgotten: now. */
  dueAtMs: number;
  /** Since when the resource waits to send a change; `undefined`: it has none. Forgotten: it waits from now on. */
  waitingSinceMs: number | undefined;
  /**
   * The number of reconciles in a row that ended with an error for this resource, such as a failed write. Forgotten: the
   * backoff begins anew.
   */
  storeFailures: number;
  /**
   * Ended operations by id that are counted once a stored watermark holds them. If the process forgets them before that,
   * they are not counted. A process that loses the Lease ends, so it never counts what a later leader has counted.
   */
  readonly pending: Map<string, CountedOperation>;
}

export interface WaitingChange {
  readonly uid: string;
  readonly namespace: string;
  readonly urgency: ChangeUrgency;
  /** When the resource began to wait, in monotonic milliseconds. */
  readonly sinceMs: number;
}

/** The kinds of change. The operator sends an earlier kind before a later one. */
export const changeOrder = ["Deletion", "OpenCreate", "Other"] as const;
export type ChangeUrgency = (typeof changeOrder)[number];

/** The maximum number of own operation ids kept for one resource. One request starts far fewer operations. */
const ownOperationsLimit = 50;

export function remember(entry: ResourceEntry, changes: Partial<ResourceMemory>): void {
  entry.memory = { ...entry.memory, ...changes };
}

/**
 * Begins the wait for the POSTs of an intent that this process does not know. An earlier process may have sent one.
 * @param nowMs monotonic milliseconds
 */
export function noteStoredIntent(entry: ResourceEntry, { status }: ComputeEndpoint, nowMs: number): void {
  const attempt = status.createIntent?.attempt;
  if (attempt !== undefined && entry.memory.posts?.attempt !== attempt) {
    remember(entry, { posts: { attempt, isUnresolved: true, sinceMs: nowMs } });
  }
}

export function rememberOperations(entry: ResourceEntry, ids: readonly string[]): void {
  if (ids.length > 0) {
    remember(entry, { ownOperationIds: [...entry.memory.ownOperationIds, ...ids].slice(-ownOperationsLimit) });
  }
}

/** This many projects without resources stay in memory, so that the metric still counts their orphans. */
const emptyProjectsLimit = 200;

interface ProjectsOptions {
  readonly clock: Clock;
  readonly operationsOf: (projectId: string) => ProjectOperations;
}

export class Projects {
  readonly #options: ProjectsOptions;
  readonly #projects = new Map<string, ProjectMemory>();

  constructor(options: ProjectsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#projects.size;
  }

  of(projectId: string): ProjectMemory {
    const known = this.#projects.get(projectId);
    if (known !== undefined) {
      return known;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const project: ProjectMemory = {
      projectId,
      operations: this.#options.operationsOf(projectId),
      resources: new Map(),
      listedWith: undefined,
      hasFurtherResources: false,
      standing: undefined,
      snapshot: undefined,
      operationsReadAtMs: nowMs,
      // Resources without a project id need no poll.
      nextPollAtMs: projectId === noProject ? Number.POSITIVE_INFINITY : nowMs,
      lastChange: undefined,
      lockedUntilMs: Number.NEGATIVE_INFINITY,
      lockHolders: new Map(),
      readFailure: undefined,
      orphanIds: new Set(),
    };
    this.#projects.set(projectId, project);
    return project;
  }

  /**
   * Makes projects due whose reads were refused with 401, because there is another API key now. After another refusal
   * they wait only briefly.
   * @returns the ids of the projects that are due now.
   */
  retryRefused(): readonly string[] {
    const nowMs = this.#options.clock.monotonicMs();
    const refused = [...this.#projects.values()].filter(
      ({ readFailure }) => readFailure?.error.reason === "Unauthorized",
    );
    for (const project of refused) {
      project.readFailure = project.readFailure && { ...project.readFailure, count: 0, retryAtMs: nowMs };
      project.nextPollAtMs = nowMs;
    }
    return refused.map(({ projectId }) => projectId);
  }

  orphanCount(): number {
    return [...this.#projects.values()].reduce((sum, { orphanIds }) => sum + orphanIds.size, 0);
  }

  /**
   * Returns, for each project with ComputeEndpoints, the milliseconds since its operations were last read completely.
   * Before the first read: since this process first saw the project.
   */
  operationsAges(): readonly Omit<OperationsAge, "controlPlane">[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#projects.values()]
      .filter(({ projectId, resources }) => projectId !== noProject && resources.size > 0)
      .map(({ projectId, operationsReadAtMs }) => ({ projectId, ageMs: nowMs - operationsReadAtMs }));
  }

  /** Forgets projects without resources: those that were never read, and the oldest ones above the limit. */
  forgetEmpty(): void {
    const empty = [...this.#projects.values()].filter(
      ({ resources, hasFurtherResources }) => resources.size === 0 && !hasFurtherResources,
    );
    const never = empty.filter(({ listedWith }) => listedWith === undefined);
    const tooMany = empty.filter(({ listedWith }) => listedWith !== undefined).slice(0, -emptyProjectsLimit);
    for (const { projectId } of [...never, ...tooMany]) {
      this.#projects.delete(projectId);
    }
  }

  forget(projectId: string): void {
    this.#projects.delete(projectId);
  }

  has(projectId: string): boolean {
    return this.#projects.has(projectId);
  }
}

export function entryFor(project: ProjectMemory, resource: ComputeEndpoint, nowMs: number) {
  const { uid, key } = resource;
  const entry: ResourceEntry = project.resources.get(uid) ?? {
    key,
    memory: {
      posts: undefined,
      answeredCreate: undefined,
      failure: undefined,
      ownOperationIds: [],
    },
    version: undefined,
    dueAtMs: nowMs,
    waitingSinceMs: undefined,
    storeFailures: 0,
    pending: new Map(),
  };
  project.resources.set(uid, entry);
  return entry;
}
