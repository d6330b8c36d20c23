/** What this process remembers. A restart may lose all of it at any moment; no decision about safety depends on it. */
import type { Clock } from "../domain/clock.ts";
import type { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { AttributedOperation, Operation, OperationsAge } from "../domain/operation.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import { noProject } from "../resource/compute-endpoint.ts";

export interface Policy {
  /** How long a POST without an answer may still take effect, in milliseconds. */
  readonly createSettleMs: number;
  /** The longest time between two reads of an operation in flight, in milliseconds. */
  readonly operationPollMs: number;
  /** The pause before a refused request is tried again, and between two full comparisons, in milliseconds. */
  readonly resyncMs: number;
}

/** A series of equal failures of the calls for one resource or project, without a success between them. */
export interface FailureRow {
  readonly error: ControlPlaneError;
  /** The generation of spec; 0 for a project. */
  readonly generation: number;
  /** When the first failure of the series happened, in monotonic milliseconds. */
  readonly sinceMs: number;
  readonly count: number;
  /** When the next try is due, in monotonic milliseconds. */
  readonly retryAtMs: number;
}

/** What this process knows about the requests under one stored note of a create. */
export interface Posts<Answer> {
  /** Names the note. */
  readonly attempt: string;
  /** False: each request under the note was refused or answered, or none was sent. */
  readonly isUnresolved: boolean;
  /** When this process first saw the note or last sent a request under it, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** The answer, until a status holds it. */
  readonly answer: Answer | undefined;
}

/** What this process knows about one resource and its status does not hold. Times are monotonic milliseconds. */
export interface ResourceMemory<Answer = { readonly operations: readonly Operation[] }, Hint = unknown> {
  /** What the last decision was made from (`basis`). With another one it is due. Forgotten: due. */
  decidedFrom: string | undefined;
  /** When the resource is due although nothing changed. Forgotten: now. */
  dueAtMs: number;
  /** Since when the resource waits to send a change, or for a list that a lock delays. Forgotten: it waits from now on. */
  waitingSinceMs: number | undefined;
  /** Calls that failed. Forgotten: the next try and the patience begin anew. */
  failure: FailureRow | undefined;
  /** The number of reconciles in a row in which a write to the API server failed. Forgotten: the backoff begins anew. */
  writeFailures: number;
  /** Forgotten: a request of the stored note may be unresolved, so the settle time begins again. */
  posts: Posts<Answer> | undefined;
  /**
   * Ended operations by id that are counted once a stored watermark holds them. If the process forgets them before that,
   * they are not counted. A process that loses the Lease ends, so it never counts what a later leader has counted.
   */
  readonly uncounted: Map<string, AttributedOperation>;
  /** What the kind remembers; its type says what happens when it is forgotten. */
  hint: Hint | undefined;
}

/** What this process remembers of one project. All times are monotonic milliseconds. */
export interface ProjectMemory {
  readonly projectId: string;
  readonly operations: ProjectOperations;
  readonly resources: Map<string, { readonly key: ResourceKey; readonly memory: ResourceMemory }>;
  /**
   * The mark of the API key with which this process last listed the project (`keyMark`). `undefined`: it never did, or
   * that is forgotten. Then a 404 does not prove that the project is gone.
   */
  listedWith: string | undefined;
  /** When the last complete read of the operations began. Before the first: when this process first saw the project. */
  operationsReadAtMs: number;
  /** When the next poll is due, if nothing changes until then. */
  nextPollAtMs: number;
  /** The last change that the control plane accepted. The next turn of its namespace comes last. */
  lastChange: { readonly namespace: string; readonly atMs: number } | undefined;
  /** No change is sent before this time, because the control plane refused one with 423. */
  lockedUntilMs: number;
  /** Since when this process has seen operations lock the project without a pause; `undefined`: none does. */
  lockedSinceMs: number | undefined;
  /** Failed reads of the project; `undefined`: the last read succeeded. */
  readFailure: FailureRow | undefined;
  /** Ids of orphans in the last list: endpoints with this cluster's token that belong to no resource. */
  orphanIds: ReadonlySet<string>;
}

export function memoryOf(
  { resources }: Pick<ProjectMemory, "resources">,
  { uid, key }: { readonly uid: string; readonly key: ResourceKey },
  nowMs: number,
): ResourceMemory {
  const known = resources.get(uid)?.memory;
  if (known !== undefined) {
    return known;
  }
  const memory: ResourceMemory = {
    decidedFrom: undefined,
    dueAtMs: nowMs,
    waitingSinceMs: undefined,
    failure: undefined,
    writeFailures: 0,
    posts: undefined,
    uncounted: new Map(),
    hint: undefined,
  };
  resources.set(uid, { key, memory });
  return memory;
}

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
      operationsReadAtMs: nowMs,
      // Resources without a project id need no poll.
      nextPollAtMs: projectId === noProject ? Number.POSITIVE_INFINITY : nowMs,
      lastChange: undefined,
      lockedUntilMs: Number.NEGATIVE_INFINITY,
      lockedSinceMs: undefined,
      readFailure: undefined,
      orphanIds: new Set(),
    };
    this.#projects.set(projectId, project);
    return project;
  }

  /** Makes projects due whose reads were refused with 401, because there is another API key now. */
  retryRefused(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (const project of this.#projects.values()) {
      const { readFailure } = project;
      if (readFailure?.error.reason !== "Unauthorized") continue;
      project.readFailure = { ...readFailure, count: 0, retryAtMs: nowMs };
      project.nextPollAtMs = nowMs;
    }
  }

  orphanCount(): number {
    return [...this.#projects.values()].reduce((sum, { orphanIds }) => sum + orphanIds.size, 0);
  }

  /** Returns, for each project with resources, the milliseconds since its operations were last read completely. */
  operationsAges(): readonly Omit<OperationsAge, "controlPlane">[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#projects.values()]
      .filter(({ projectId, resources }) => projectId !== noProject && resources.size > 0)
      .map(({ projectId, operationsReadAtMs }) => ({ projectId, ageMs: nowMs - operationsReadAtMs }));
  }

  forget(projectId: string): void {
    this.#projects.delete(projectId);
  }
}
