/** The project memory: what this process remembers of the projects of a control plane. */
import type { FailureRow, ResourceMemory } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { mayHaveSentDelete } from "../decide/plan-resource.ts";
import { isStalledAsAmbiguous } from "../decide/plan-unowned.ts";
import type { Clock } from "../domain/clock.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { OperationsAge } from "../domain/operation.ts";
import type { ResourceEvent, ResourceKey } from "../domain/resource-store.ts";
import type { ProjectOperations } from "../operations/reader.ts";
import type { CountedOperation } from "../operations/reduce-operations.ts";
import { type ComputeEndpoint, isBeingDeleted, noProject } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";

/**
 * What this process remembers of one project. A restart may lose all of it at any moment. Everything that must survive
 * is stored in a resource's status before the operator relies on it. All times are monotonic milliseconds.
 */
export interface ProjectMemory {
  readonly projectId: string;
  /** What all projects of the control plane share: whether it has ever shown the name of an endpoint. */
  readonly shared: { hasSeenNames: boolean };
  readonly operations: ProjectOperations;
  /** The resources of the project, by uid. */
  readonly resources: Map<string, ResourceEntry>;
  /** Whether this process has ever listed the endpoints of the project. */
  hasBeenRead: boolean;
  /** Whether the last reconcile worked on resources of further kinds. */
  hasFurtherResources: boolean;
  /**
   * The last snapshot of the endpoints. `undefined`: none was read yet, the last list failed, or a DELETE or a write
   * without an answer came after it.
   */
  snapshot: ProjectSnapshot | undefined;
  /** The control plane's clock as an answer last showed it. `undefined`: no answer has shown it. */
  serviceTime: ServiceTime | undefined;
  /**
   * When the last complete read of the operations began. Before the first read: when this process first saw the
   * project.
   */
  operationsReadAtMs: number;
  /** When the next poll is due, if nothing changes until then. */
  nextPollAtMs: number;
  /** When ended changes were last compared with spec at their regular time. See `comparedNow`. */
  comparedAtMs: number;
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
  /** Endpoints that our creates made for resources that are gone, by endpoint id. The operator deletes them. */
  readonly abandoned: Map<string, AbandonedEndpoint>;
  /** Ids of orphans in the last snapshot: endpoints with this cluster's token that belong to no resource. */
  orphanIds: ReadonlySet<string>;
}

/** The control plane's clock at one moment. */
interface ServiceTime {
  /** Epoch milliseconds of the control plane's clock. */
  readonly timeMs: number;
  /** The monotonic milliseconds of this process at that moment. */
  readonly atMs: number;
  /**
   * Where the time comes from. `Operation`: no answer had a `Date` header, so it is the creation time of the newest
   * operation.
   */
  readonly source: "DateHeader" | "Operation";
}

/** An endpoint whose resource was gone before the answer to its create was stored. */
export interface AbandonedEndpoint {
  readonly key: ResourceKey;
  readonly uid: string;
  readonly endpointId: string;
  /** The number of tries so far after which the endpoint was not proven gone. */
  readonly failures: number;
  readonly retryAtMs: number;
}

/** What this process remembers of one resource, in addition to the memory that decisions use. */
export interface ResourceEntry {
  readonly key: ResourceKey;
  memory: ResourceMemory;
  /** The resourceVersion after the last reconcile of the resource. A resource with another version is due. */
  version: string | undefined;
  /** When the resource is due although it did not change. */
  dueAtMs: number;
  /** The change that the resource waits to send; `undefined`: none. */
  waiting: Pick<WaitingChange, "sinceMs" | "urgency"> | undefined;
  /** The last change, if it was refused and not applied. No second event announces its next try. */
  refusedChange: { readonly kind: Plan["kind"]; readonly generation: number } | undefined;
  /** The number of reconciles in a row that ended with an error for this resource, such as a failed write. */
  storeFailures: number;
  /** The series of failed reads of its endpoint by id; `undefined`: the last read did not fail. */
  readFailure: { readonly reason: string; readonly sinceMs: number } | undefined;
  /** When its endpoint was last read by id because a list did not show it or proved nothing; 0: never. */
  missingReadAtMs: number;
  /**
   * The grant of the resource, and why its control plane cannot be used, at the last reconcile. If one of them changes,
   * the resource is due.
   */
  grantAndProblem: string | undefined;
  /**
   * Writes without an answer, oldest first. Their events and counts wait until the operator knows that the write was
   * stored.
   */
  unconfirmed: readonly UnconfirmedWrite[];
}

/** A resource of a project that waits to change something in the control plane. */
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

/** A write to the API server without an answer, with the events and counts to publish if it was stored. */
export interface UnconfirmedWrite {
  /** The status that the write stores; `undefined`: the write removes the finalizer. */
  readonly status: ComputeEndpointStatus | undefined;
  readonly ended: readonly CountedOperation[];
  readonly dropped: readonly string[];
  readonly events: readonly ResourceEvent[];
  /** The attempt of the intent that the write stores before its POST. If the write failed, no POST was sent under it. */
  readonly unsentAttempt?: string | undefined;
}

/**
 * The maximum number of writes without an answer that are kept for one resource. The backoff between them grows to a
 * minute.
 */
const unconfirmedLimit = 20;

/** The maximum number of own operation ids kept for one resource. One request starts far fewer operations. */
const ownOperationsLimit = 50;

/** Replaces some members of the memory of a resource. */
export function remember(entry: ResourceEntry, changes: Partial<ResourceMemory>): void {
  entry.memory = { ...entry.memory, ...changes };
}

/** Remembers a write without an answer. The API server may still store it until another write is stored. */
export function rememberUnconfirmed(entry: ResourceEntry, write: UnconfirmedWrite): void {
  entry.unconfirmed = [...entry.unconfirmed, write].slice(-unconfirmedLimit);
}

/** Adjusts the memory of a create to the intent that is stored now. @param nowMs monotonic milliseconds */
export function noteStoredIntent(entry: ResourceEntry, { status }: ComputeEndpoint, nowMs: number): void {
  const { createIntent } = status;
  if (createIntent === undefined) {
    if (entry.memory.intent !== undefined) {
      remember(entry, { intent: undefined });
    }
  } else if (entry.memory.intent?.attempt !== createIntent.attempt) {
    const { attempt } = createIntent;
    // If this process wrote the intent and got no answer, it sent no POST. Under any other unknown intent, an earlier
    // process may have sent one.
    const isUnsent = entry.unconfirmed.some(({ unsentAttempt }) => unsentAttempt === attempt);
    const posts = isUnsent ? "NoneSent" : "Unresolved";
    remember(entry, { intent: { attempt, posts, firstSeenMs: nowMs, lastPostMs: undefined } });
  }
}

/** Adds ids of operations that an answer to our own call named. */
export function rememberOperations(entry: ResourceEntry, ids: readonly string[]): void {
  if (ids.length > 0) {
    remember(entry, { ownOperationIds: [...entry.memory.ownOperationIds, ...ids].slice(-ownOperationsLimit) });
  }
}

/**
 * The maximum number of projects without resources that stay in memory, so that the metric still counts their orphans.
 */
const emptyProjectsLimit = 200;

/** The options of `Projects`. */
interface ProjectsOptions {
  readonly clock: Clock;
  /** Makes the reader of a project's operation log. */
  readonly operationsOf: (projectId: string) => ProjectOperations;
}

/** The memory of all projects of one control plane. */
export class Projects {
  readonly #options: ProjectsOptions;
  readonly #projects = new Map<string, ProjectMemory>();
  readonly #shared = { hasSeenNames: false };

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
      hasFurtherResources: false,
      snapshot: undefined,
      serviceTime: undefined,
      operationsReadAtMs: nowMs,
      // Resources without a project id need no poll.
      nextPollAtMs: projectId === noProject ? Number.POSITIVE_INFINITY : nowMs,
      comparedAtMs: Number.NEGATIVE_INFINITY,
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

  /**
   * Forgets projects without resources and abandoned endpoints: those that were never read, and the oldest ones above
   * the limit.
   */
  forgetEmpty(): void {
    const empty = [...this.#projects.values()].filter(
      ({ resources, abandoned, hasFurtherResources }) =>
        resources.size === 0 && abandoned.size === 0 && !hasFurtherResources,
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

/**
 * Returns the DELETE that an earlier process got an answer to, if the resource is Stalled because lists still show its
 * endpoint. So the first decision of this process reads by id, and does not send DELETE again.
 */
function earlierDelete(resource: ComputeEndpoint): ResourceMemory["deleteAnswered"] {
  const { ownership } = resource.status;
  return isBeingDeleted(resource) && isStalledAsAmbiguous({ resource }) && ownership !== undefined
    ? { endpointId: ownership.endpointId, atMs: Number.NEGATIVE_INFINITY }
    : undefined;
}

/** Returns the entry of a resource. A new resource gets an empty entry. */
export function entryFor(project: ProjectMemory, resource: ComputeEndpoint, nowMs: number) {
  const { uid, key, status } = resource;
  const entry: ResourceEntry = project.resources.get(uid) ?? {
    key,
    memory: {
      firstSeenMs: nowMs,
      mayHaveSentDelete: mayHaveSentDelete(resource),
      stalledSinceAtFirst: conditionOf(status.conditions, "Stalled")?.lastTransitionTime,
      intent: undefined,
      answeredCreate: undefined,
      failure: undefined,
      ownOperationIds: [],
      lastAnswer: undefined,
      goneEndpointId: undefined,
      contradictedSinceMs: undefined,
      lastDelete: undefined,
      deleteAnswered: earlierDelete(resource),
      acknowledgedAtMs: undefined,
    },
    version: undefined,
    dueAtMs: nowMs,
    waiting: undefined,
    refusedChange: undefined,
    storeFailures: 0,
    readFailure: undefined,
    missingReadAtMs: 0,
    grantAndProblem: undefined,
    unconfirmed: [],
  };
  project.resources.set(uid, entry);
  return entry;
}
