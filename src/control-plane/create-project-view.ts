import type { Clock } from "../domain/clock.ts";
import type { ControlPlane, Mutation } from "../domain/control-plane.ts";
import type { ProjectReading, ProjectView } from "../domain/project-view.ts";
import { type OperationLogGap, OperationMemory } from "./operation-memory.ts";
import { readOperations } from "./read-operations.ts";

/** What the project view needs, and how much it remembers. */
export interface ProjectViewOptions {
  readonly controlPlane: Pick<ControlPlane, "listEndpoints" | "listOperations" | "getOperation">;
  readonly clock: Clock;
  /** Ended operations kept for each project. Not below `pageSize`. @default 50 */
  readonly windowSize?: number;
  /** Operations kept at most from one reading to the next, whatever `neededSinceMs` says. @default 10000 */
  readonly mostKept?: number;
  /** Operations on the first page, which is the only one as long as little happens. @default 50 */
  readonly pageSize?: number;
  /** Operations on each further page. @default 1000, the most that the service gives */
  readonly deepPageSize?: number;
  /** Pages of operations in one reading. @default 10 */
  readonly maxPages?: number;
  /** Operations asked for by id in one reading. @default 20 */
  readonly maxPolls?: number;
  /** How long an operation is waited for that a read by id says does not exist. @default 60000 */
  readonly missingGraceMs?: number;
  /** A project that nobody reads for so long is forgotten. @default 3600000 */
  readonly idleMs?: number;
  /**
   * From when on somebody still has to see all operations of a project: epoch milliseconds of the service's clock.
   * Asked once a reading; `undefined`: nobody looks back. @default nobody
   */
  readonly neededSinceMs?: (projectId: string) => number | undefined;
  /** Is told when a reading did not go back as far as was needed. @default nobody is told */
  readonly onGap?: (projectId: string, gap: OperationLogGap) => void;
}

/** One project: what is remembered, the reading under way, and the one promised to follow it. */
interface Project {
  readonly id: string;
  readonly operations: OperationMemory;
  lastUsedMs: number;
  lastWriteMs: number | undefined;
  last: ProjectReading | undefined;
  current: { readonly asOfMs: number; readonly reading: Promise<ProjectReading> } | undefined;
  next: Promise<ProjectReading> | undefined;
}

/**
 * One shared reading per project and moment: at most one is under way, and all who need a newer one share the next.
 *
 * Within a reading the operations come first and the endpoints after them: an endpoint is then never older than the
 * word that its operation has ended, which would look like drift.
 */
export function createProjectView(options: ProjectViewOptions): ProjectView {
  return new SharedReadings(options);
}

class SharedReadings implements ProjectView {
  readonly #options: Required<ProjectViewOptions>;
  readonly #projects = new Map<string, Project>();
  /** Of the service, not of a project; once seen it stays true. */
  #echoesNames = false;

  constructor(options: ProjectViewOptions) {
    this.#options = {
      windowSize: 50,
      mostKept: 10_000,
      pageSize: 50,
      deepPageSize: 1_000,
      maxPages: 10,
      maxPolls: 20,
      missingGraceMs: 60_000,
      idleMs: 3_600_000,
      neededSinceMs: () => undefined,
      onGap: () => {},
      ...options,
    };
  }

  async read(projectId: string, notOlderThanMs: number): Promise<ProjectReading> {
    const project = this.#project(projectId);
    if (project.last !== undefined && project.last.asOfMs >= notOlderThanMs) {
      return project.last;
    }
    if (project.current === undefined) {
      // A promised reading that has not begun yet is as new as one begun now.
      return project.next ?? this.#begin(project);
    }
    if (project.current.asOfMs >= notOlderThanMs) {
      return project.current.reading;
    }
    project.next ??= project.current.reading.then(
      () => this.#begin(project),
      () => this.#begin(project),
    );
    return project.next;
  }

  noteWrite(projectId: string, mutation: Mutation | undefined): void {
    this.#echoesNames ||= mutation?.endpoint.name !== undefined;
    const project = this.#project(projectId);
    project.lastWriteMs = this.#options.clock.monotonicMs();
    for (const operation of mutation?.operations ?? []) {
      project.operations.add(operation);
    }
  }

  lastWriteMs(projectId: string): number | undefined {
    return this.#projects.get(projectId)?.lastWriteMs;
  }

  watchOperation(projectId: string, operationId: string): void {
    this.#project(projectId).operations.expect(operationId);
  }

  forget(projectId: string): void {
    this.#projects.delete(projectId);
  }

  #begin(project: Project): Promise<ProjectReading> {
    const asOfMs = this.#options.clock.monotonicMs();
    const reading = this.#take(project, asOfMs)
      .catch((error: unknown) => {
        // What was true before the failure is not what the service says now.
        project.last = undefined;
        throw error;
      })
      .finally(() => {
        project.current = undefined;
      });
    project.current = { asOfMs, reading };
    project.next = undefined;
    return reading;
  }

  async #take(project: Project, asOfMs: number): Promise<ProjectReading> {
    const neededMs = this.#options.neededSinceMs(project.id);
    // Before and not after: a reading shows all that it met, so that a burst larger than the window is seen once.
    this.#tellGap(project, project.operations.prune(neededMs));
    this.#tellGap(project, await readOperations(project.id, project.operations, { ...this.#options, neededMs }));
    const { endpoints, unreadableIds } = await this.#options.controlPlane.listEndpoints(project.id);
    this.#echoesNames ||= endpoints.some((endpoint) => endpoint.name !== undefined);
    const reading: ProjectReading = {
      projectId: project.id,
      asOfMs,
      endpoints,
      unreadableEndpointIds: unreadableIds,
      operations: project.operations.newestFirst(),
      newestListedTime: project.operations.newestListedTime,
      echoesNames: this.#echoesNames,
    };
    project.last = reading;
    return reading;
  }

  #tellGap({ id }: Project, gap: OperationLogGap | undefined): void {
    if (gap !== undefined) {
      this.#options.onGap(id, gap);
    }
  }

  #project(id: string): Project {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#projects.get(id);
    if (known !== undefined) {
      known.lastUsedMs = nowMs;
      return known;
    }
    this.#dropIdle(nowMs);
    const project: Project = {
      id,
      operations: new OperationMemory(this.#options),
      lastUsedMs: nowMs,
      lastWriteMs: undefined,
      last: undefined,
      current: undefined,
      next: undefined,
    };
    this.#projects.set(id, project);
    return project;
  }

  /** Only a new project makes memory grow, so that is when the old ones are looked through. */
  #dropIdle(nowMs: number): void {
    for (const project of this.#projects.values()) {
      if (project.current === undefined && nowMs - project.lastUsedMs > this.#options.idleMs) {
        this.#projects.delete(project.id);
      }
    }
  }
}
