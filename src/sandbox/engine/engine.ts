/** The engine of the sandbox: the rules of a control plane, without HTTP and disk. */
import { BranchObjects } from "./branch-objects.ts";
import {
  type BranchChanges,
  type BranchCreation,
  type BranchMutation,
  createBranch,
  deleteBranch,
  makePrimary,
  type NewBranch,
  updateBranch,
} from "./branches.ts";
import type { ComputeDriver } from "./compute-driver.ts";
import type { EndpointChanges, EndpointCreation } from "./endpoint-changes.ts";
import {
  anyEndpoint,
  connectTo,
  createEndpoint,
  deleteEndpoint,
  loseCompute,
  type Mutation,
  restartEndpoint,
  startEndpoint,
  suspendEndpoint,
  updateEndpoint,
} from "./endpoints.ts";
import { expire } from "./expiry.ts";
import type { PlannedFailure, PlannedFailureState } from "./failure-plan.ts";
import type { FileCacheUse } from "./file-cache.ts";
import type { Fixture } from "./fixture.ts";
import { ListViews } from "./lists.ts";
import { advanceOperation, noteWorkEnded, resumeWork } from "./operation-transitions.ts";
import type { Profile } from "./profile.ts";
import {
  createProject,
  deleteProject,
  liveProjects,
  type NewProject,
  type ProjectChanges,
  type ProjectCreation,
  type ProjectMutation,
  regionIds,
  updateProject,
} from "./projects.ts";
import { RealWork } from "./real-work.ts";
import type {
  BranchRecord,
  EndpointRecord,
  OperationRecord,
  ProjectRecord,
  StoreContent,
  TimerRecord,
} from "./records.ts";
import { Refusal } from "./refusal.ts";
import { Restores } from "./restores.ts";
import { seedWorld } from "./seeding.ts";
import { type EngineSettings, regionHost } from "./settings.ts";
import type { OperationPosition, Store } from "./store.ts";
import { checkAvailability, rearm, skipMissedChecks, suspendIfInactive } from "./timers.ts";
import { World } from "./world.ts";

/** The clock that the engine reads. It may stand still. If it goes back, the engine keeps its latest time. */
export interface EngineClock {
  /** Returns epoch milliseconds. */
  nowMs(): number;
}

/** The arguments of the constructor of `Engine`. */
export interface EngineParts {
  readonly store: Store;
  readonly clock: EngineClock;
  readonly profile: Profile;
  readonly settings: EngineSettings;
  /** Does the real work of operations. @default none: an operation ends when its planned time has passed */
  readonly driver?: ComputeDriver | undefined;
}

/**
 * The control plane without HTTP and disk. It holds all objects, all rules and the time.
 * It is synchronous and deterministic: its state depends only on the calls, their times, the seed and the results of
 * real work. Each call first carries out everything that has become due, such as the end of an operation, in order and
 * at the due times. So one long step of the clock has the same result as many short ones. Each call is one transaction
 * of the store.
 * Errors: a method throws `Refusal` if it refuses the request; any other error is a bug.
 */
export class Engine {
  readonly profile: Profile;
  /** The calls about the content of branches: roles, databases, and connection strings. */
  readonly objects: BranchObjects;
  /** The calls about earlier data: restores, branch snapshots, recovery of deleted projects, usage. */
  readonly restores: Restores;
  readonly #world: World;
  readonly #clock: EngineClock;
  readonly #lists: ListViews;
  readonly #progress = new Set<() => void>();

  constructor({ store, clock, profile, settings, driver }: EngineParts) {
    this.profile = profile;
    const work = new RealWork(driver, (operationId) => this.#endWork(operationId));
    this.#world = new World(store, profile, settings, work);
    this.#clock = clock;
    this.#lists = new ListViews(this.#world);
    this.restores = new Restores(this.#world, (work) => this.#run(work));
    this.objects = new BranchObjects(this.#world, (work) => this.#run(work));
  }

  /** Replaces all records by the fixture. Planned failures and list lag are removed too. */
  reset(fixture: Fixture): void {
    this.#world.failures.clear();
    this.#world.work.forgetAll();
    this.#lists.setLag(0);
    this.#world.nowMs = Math.max(this.#world.nowMs, this.#clock.nowMs());
    this.#world.store.transaction(() => {
      this.#world.store.clear();
      seedWorld(this.#world, fixture);
    });
  }

  /** Returns a copy of all records. Planned failures, list lag and file cache statistics are not part of it. */
  snapshot(): StoreContent {
    this.advance();
    return this.#world.store.export();
  }

  /**
   * Replaces all records by `content`. The engine's time does not go back: it carries out everything in `content` that
   * is due by now, except missed availability checks.
   * @param content must be checked by the caller.
   */
  restore(content: StoreContent): void {
    this.#world.failures.clear();
    this.#world.work.forgetAll();
    this.#lists.setLag(0);
    this.#world.nowMs = Math.max(this.#world.nowMs, this.#clock.nowMs());
    this.#world.store.transaction(() => {
      this.#world.store.restore({ ...content, timers: [] });
      rearm(this.#world, content);
      resumeWork(this.#world);
    });
    this.advance();
  }

  /**
   * Skips the availability checks that became due before now, because the engine did not run at that time. Each branch
   * is checked at its next regular time.
   */
  skipMissedChecks(): void {
    this.#world.store.transaction(() => skipMissedChecks(this.#world, this.#clock.nowMs()));
  }

  /** Carries out everything that is due. */
  advance(): void {
    const world = this.#world;
    const untilMs = Math.max(world.nowMs, this.#clock.nowMs());
    if (this.#isDue(untilMs)) {
      world.store.transaction(() => {
        for (let timer = world.store.timers.next(); timer !== undefined && timer.dueMs <= untilMs; ) {
          world.nowMs = Math.max(world.nowMs, timer.dueMs);
          this.#fire(timer);
          timer = world.store.timers.next();
        }
      });
    }
    world.nowMs = untilMs;
  }

  /**
   * Begins the real work of running operations again, after the sandbox was restarted. Without a driver there is
   * nothing to begin.
   */
  resumeWork(): void {
    this.#run(() => resumeWork(this.#world));
  }

  /**
   * Adds a listener. It is called after real work has ended or a server was lost, because records may have changed
   * without a request.
   */
  onProgress(listener: () => void): void {
    this.#progress.add(listener);
  }

  /** Must be called when a server has ended by itself. If its compute was active, the compute becomes idle. */
  loseCompute(endpointId: string): void {
    this.#run(() => loseCompute(this.#world, endpointId));
    for (const listener of this.#progress) listener();
  }

  /** Returns when something becomes due next, in epoch milliseconds; `undefined`: nothing will become due by itself. */
  nextDueMs(): number | undefined {
    return this.#world.store.timers.next()?.dueMs;
  }

  projects(): readonly ProjectRecord[] {
    return this.#run(() => liveProjects(this.#world));
  }

  createProject(creation: ProjectCreation): NewProject {
    return this.#run(() => createProject(this.#world, creation));
  }

  updateProject(projectId: string, changes: ProjectChanges): ProjectMutation {
    return this.#run(() => updateProject(this.#world, projectId, changes));
  }

  deleteProject(projectId: string): ProjectMutation {
    return this.#run(() => deleteProject(this.#world, projectId));
  }

  /** Returns the ids of the regions for projects. The first one is the default. */
  regionIds(): readonly string[] {
    return this.#run(() => regionIds(this.#world));
  }

  project(projectId: string): ProjectRecord {
    return this.#run(() => this.#world.project(projectId));
  }

  branches(projectId: string): readonly BranchRecord[] {
    return this.#run(() => this.#world.store.branches.ofProject(this.#world.project(projectId).id));
  }

  branch(projectId: string, branchId: string): BranchRecord {
    return this.#run(() => this.#world.branch(projectId, branchId));
  }

  createBranch(projectId: string, creation: BranchCreation): NewBranch {
    return this.#run(() => createBranch(this.#world, projectId, creation));
  }

  updateBranch(projectId: string, branchId: string, changes: BranchChanges): BranchMutation {
    return this.#run(() => updateBranch(this.#world, { projectId, branchId }, changes));
  }

  makePrimary(projectId: string, branchId: string): BranchMutation {
    return this.#run(() => makePrimary(this.#world, projectId, branchId));
  }

  deleteBranch(projectId: string, branchId: string): BranchMutation {
    return this.#run(() => deleteBranch(this.#world, projectId, branchId));
  }

  /**
   * Returns the common end of the host names of all endpoints in the project's region. The host name of one endpoint has
   * its id and a dot in front of it.
   */
  proxyHost(project: ProjectRecord): string {
    return regionHost(project.regionId, this.#world.settings.hostSuffix);
  }

  /**
   * Lists the endpoints of a project in the order of creation. While a list lag is set, the list shows an earlier
   * state.
   */
  endpoints(projectId: string): readonly EndpointRecord[] {
    return this.#run(() => this.#lists.endpoints(projectId));
  }

  /** Returns the endpoint as it is now, whatever the list lag is. */
  endpoint(projectId: string, endpointId: string): EndpointRecord {
    return this.#run(() => this.#world.endpoint(projectId, endpointId));
  }

  createEndpoint(projectId: string, creation: EndpointCreation): Mutation {
    return this.#run(() => createEndpoint(this.#world, projectId, creation));
  }

  updateEndpoint(projectId: string, endpointId: string, changes: EndpointChanges): Mutation {
    return this.#run(() => updateEndpoint(this.#world, projectId, { endpointId, changes }));
  }

  deleteEndpoint(projectId: string, endpointId: string): Mutation {
    return this.#run(() => deleteEndpoint(this.#world, projectId, endpointId));
  }

  startEndpoint(projectId: string, endpointId: string): Mutation {
    return this.#run(() => startEndpoint(this.#world, projectId, endpointId));
  }

  suspendEndpoint(projectId: string, endpointId: string): Mutation {
    return this.#run(() => suspendEndpoint(this.#world, projectId, endpointId));
  }

  restartEndpoint(projectId: string, endpointId: string): Mutation {
    return this.#run(() => restartEndpoint(this.#world, projectId, endpointId));
  }

  /**
   * Must be called when a client connects to a database. The connection starts an idle compute, or counts as activity.
   * @param use the client's accesses to the compute's file cache; they count only if the compute is active and is not
   *   being suspended.
   * @throws Refusal NotFound, NotAllowed (disabled)
   */
  connect(endpointId: string, use: FileCacheUse | undefined): Mutation {
    return this.#run(() => connectTo(this.#world, endpointId, use));
  }

  /**
   * Returns an endpoint of any project, and the file cache statistics of its compute. The statistics are `undefined` if
   * the compute does not run.
   */
  compute(endpointId: string): { readonly endpoint: EndpointRecord; readonly fileCache: FileCacheUse | undefined } {
    return this.#run(() => {
      const endpoint = anyEndpoint(this.#world, endpointId);
      return { endpoint, fileCache: this.#world.fileCaches.of(endpoint) };
    });
  }

  /**
   * Lists at most `limit` operations, newest first. If `after` is defined, all of them are older than that position.
   * While a list lag is set, the list shows an earlier state.
   */
  operations(
    projectId: string,
    page: { readonly limit: number; readonly after: OperationPosition | undefined },
  ): readonly OperationRecord[] {
    return this.#run(() => this.#lists.operations(projectId, page));
  }

  /** Returns the operation as it is now, whatever the list lag is. */
  operation(projectId: string, operationId: string): OperationRecord {
    return this.#run(() => {
      const operation = this.#world.store.operations.get(operationId);
      if (operation?.projectId !== this.#world.everProject(projectId).id) {
        throw new Refusal("NotFound", "operation not found");
      }
      return operation;
    });
  }

  /** Plans failures for operations that start later. @throws Refusal NotAllowed (too many are planned) */
  failNext(failure: PlannedFailure): void {
    this.#world.failures.add(failure);
  }

  /** Returns the planned failures that are not used up yet. */
  plannedFailures(): readonly PlannedFailureState[] {
    return this.#world.failures.list();
  }

  /** Removes a planned failure. @returns whether it existed and was not used up yet */
  cancelFailure(id: string): boolean {
    return this.#world.failures.remove(id);
  }

  /**
   * Sets the list lag: lists of endpoints and operations show the state `lagMs` milliseconds ago; 0: the present state.
   * They never show a state from before the lag was set.
   */
  setListLag(lagMs: number): void {
    this.#run(() => this.#lists.setLag(lagMs));
  }

  #run<T>(work: () => T): T {
    this.advance();
    return this.#world.store.transaction(work);
  }

  #endWork(operationId: string): void {
    this.#run(() => noteWorkEnded(this.#world, operationId));
    this.advance();
    for (const listener of this.#progress) listener();
  }

  #isDue(untilMs: number): boolean {
    const dueMs = this.nextDueMs();
    return dueMs !== undefined && dueMs <= untilMs;
  }

  #fire({ kind, subjectId }: TimerRecord): void {
    if (kind === "operation") advanceOperation(this.#world, subjectId);
    else if (kind === "autoSuspend") suspendIfInactive(this.#world, subjectId);
    else if (kind === "expiry") expire(this.#world, subjectId);
    else checkAvailability(this.#world, subjectId);
  }
}
