import type { Clock } from "../domain/clock.ts";
import type { OperationsAge } from "../domain/operation-metrics.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import { type ComputeEndpoint, noProject } from "../resource/compute-endpoint.ts";
import { type ControlPlaneMemory, newResourceEntry, type ProjectMemory, type ResourceEntry } from "./project-memory.ts";

/** The maximum number of projects without resources that stay in memory, so that their orphans stay visible. */
const emptyProjectsLimit = 200;

/** What the memory of projects needs. */
export interface ProjectsOptions {
  readonly clock: Clock;
  /** Makes the reader of a project's operation log. */
  readonly operationsOf: (projectId: string) => ProjectOperations;
}

/** The memory of all projects of one control plane. */
export class Projects {
  readonly #options: ProjectsOptions;
  readonly #projects = new Map<string, ProjectMemory>();
  readonly #shared: ControlPlaneMemory = { hasSeenNames: false };

  constructor(options: ProjectsOptions) {
    this.#options = options;
  }

  /** The number of projects in memory. */
  get size(): number {
    return this.#projects.size;
  }

  /** The memory of a project; an empty one for a project that is new. */
  of(projectId: string): ProjectMemory {
    const known = this.#projects.get(projectId);
    if (known !== undefined) {
      return known;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const project: ProjectMemory = {
      projectId,
      shared: this.#shared,
      operations: this.#options.operationsOf(projectId),
      resources: new Map(),
      hasBeenRead: false,
      furtherResources: 0,
      snapshot: undefined,
      serviceTime: undefined,
      operationsReadAtMs: nowMs,
      // There is nothing to poll for resources that name no project.
      nextPollAtMs: projectId === noProject ? Number.POSITIVE_INFINITY : nowMs,
      lastWriteMs: Number.NEGATIVE_INFINITY,
      lastChange: undefined,
      lockedUntilMs: Number.NEGATIVE_INFINITY,
      lockHolders: new Map(),
      readFailure: undefined,
      abandoned: new Map(),
      orphanIds: new Set(),
    };
    this.#projects.set(projectId, project);
    return project;
  }

  /**
   * There is another API key: what was refused with 401 is read again now, and a further refusal is waited for only briefly.
   *
   * @returns the projects that are due by this.
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

  /** Endpoints with this cluster's token that belong to no resource, in all projects. */
  orphanCount(): number {
    return [...this.#projects.values()].reduce((sum, { orphanIds }) => sum + orphanIds.size, 0);
  }

  /** What the control plane's clock shows now: its last shown time, and what has passed since; `undefined`: unknown. */
  serviceNowMs(projectId: string): number | undefined {
    const shown = this.#projects.get(projectId)?.serviceTime;
    return shown && shown.timeMs + this.#options.clock.monotonicMs() - shown.atMs;
  }

  /** The time since the last complete read of the operations, in milliseconds, of each project with resources. */
  operationsAges(): readonly OperationsAge[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#projects.values()]
      .filter(({ projectId, resources }) => projectId !== noProject && resources.size > 0)
      .map(({ projectId, operationsReadAtMs }) => ({ projectId, ageMs: nowMs - operationsReadAtMs }));
  }

  /** Forgets the oldest projects without resources beyond the limit, and those that were never read. */
  forgetEmpty(): void {
    const empty = [...this.#projects.values()].filter(
      ({ resources, abandoned, furtherResources }) =>
        resources.size === 0 && abandoned.size === 0 && furtherResources === 0,
    );
    const never = empty.filter(({ hasBeenRead }) => !hasBeenRead);
    const tooMany = empty.filter(({ hasBeenRead }) => hasBeenRead).slice(0, -emptyProjectsLimit);
    for (const { projectId } of [...never, ...tooMany]) {
      this.#projects.delete(projectId);
    }
  }

  /** Whether the process remembers a project. */
  has(projectId: string): boolean {
    return this.#projects.has(projectId);
  }
}

/** The entry of a resource; a new one at its first sight. */
export function entryFor(project: ProjectMemory, resource: ComputeEndpoint, nowMs: number): ResourceEntry {
  const known = project.resources.get(resource.uid);
  if (known !== undefined) {
    return known;
  }
  const entry = newResourceEntry(resource.key, resource.deletionTimestamp !== undefined, nowMs);
  project.resources.set(resource.uid, entry);
  return entry;
}
