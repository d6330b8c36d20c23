/** The memory of all projects of one control plane. */
import type { Clock } from "../domain/clock.ts";
import type { OperationsAge } from "../domain/operation.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import { type ComputeEndpoint, noProject } from "../resource/compute-endpoint.ts";
import { type ControlPlaneMemory, newResourceEntry, type ProjectMemory, type ResourceEntry } from "./project-memory.ts";

/**
 * The maximum number of projects without resources that stay in memory, so that the metric still counts their orphans.
 */
const emptyProjectsLimit = 200;

/** The parts that the memory needs. */
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

  /** Returns the memory of a project. A new project gets an empty memory. */
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
      // Resources without a project id need no poll.
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

  /** Returns the number of orphans in all projects: endpoints with this cluster's token that belong to no resource. */
  orphanCount(): number {
    return [...this.#projects.values()].reduce((sum, { orphanIds }) => sum + orphanIds.size, 0);
  }

  /**
   * Returns the control plane's present time in epoch milliseconds: its last shown time plus the time since.
   * `undefined`: it is unknown.
   */
  serviceNowMs(projectId: string): number | undefined {
    const shown = this.#projects.get(projectId)?.serviceTime;
    return shown && shown.timeMs + this.#options.clock.monotonicMs() - shown.atMs;
  }

  /** Returns, for each project with resources, the milliseconds since its operations were last read completely. */
  operationsAges(): readonly Omit<OperationsAge, "controlPlane">[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#projects.values()]
      .filter(({ projectId, resources }) => projectId !== noProject && resources.size > 0)
      .map(({ projectId, operationsReadAtMs }) => ({ projectId, ageMs: nowMs - operationsReadAtMs }));
  }

  /** Forgets projects without resources: those that were never read, and the oldest ones above the limit. */
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

/** Returns the entry of a resource. A new resource gets a new entry. */
export function entryFor(project: ProjectMemory, resource: ComputeEndpoint, nowMs: number): ResourceEntry {
  const known = project.resources.get(resource.uid);
  if (known !== undefined) {
    return known;
  }
  const entry = newResourceEntry(resource.key, resource.deletionTimestamp !== undefined, nowMs);
  project.resources.set(resource.uid, entry);
  return entry;
}
