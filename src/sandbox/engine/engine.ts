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

/** Where the engine reads the time. May stand still; going back counts as standing still. */
export interface EngineClock {
  /** Epoch milliseconds. */
  nowMs(): number;
}

/** What an engine is made of. */
export interface EngineParts {
  readonly store: Store;
  readonly clock: EngineClock;
  readonly profile: Profile;
  readonly settings: EngineSettings;
  /** Carries operations out on real computes. @default none: an operation is over when its time has passed */
  readonly driver?: ComputeDriver | undefined;
}

/**
 * The control plane without HTTP and without disk: every object, every rule, and time.
 *
 * Synchronous and deterministic: state depends on the calls, their times and the seed only. Whatever has become due is
 * carried out at the start of each call, in the order and at the times at which it was due, so that one long step of the
 * clock gives what many short ones give. Each call is one transaction of the store.
 * Errors: every method that takes an id throws `Refusal`, and nothing else on purpose.
 */
export class Engine {
  readonly profile: Profile;
  /** What is inside a branch: its roles, its databases, and ways to connect to them. */
  readonly objects: BranchObjects;
  /** The past: restores, snapshots of branches, recovery of projects, usage. */
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

  /** Empties the store and fills it with the fixture; planned failures and list lag are forgotten too. */
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

  /** Everything the engine has stored, as it is now. Planned failures and list lag are not part of it. */
  snapshot(): StoreContent {
    this.advance();
    return this.#world.store.export();
  }

  /**
   * Puts a snapshot in the place of everything. Time does not go back: what has become due since is carried out,
   * checks of availability that were missed aside.
   *
   * @param content checked by the caller.
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

  /** After time has passed without the engine: leaves aside the checks of availability that were due in it. */
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
   * For a sandbox that starts again on records with operations in flight: begins the real work of those that run.
   * Without a driver there is nothing to begin.
   */
  resumeWork(): void {
    this.#run(() => resumeWork(this.#world));
  }

  /** Calls the listener after real work has changed the records without a request. */
  onProgress(listener: () => void): void {
    this.#progress.add(listener);
  }

  /** The server of an active compute has ended by itself: the compute is idle from now on. */
  loseCompute(endpointId: string): void {
    this.#run(() => loseCompute(this.#world, endpointId));
    for (const listener of this.#progress) listener();
  }

  /** When something becomes due next, epoch milliseconds; `undefined`: nothing will by itself. */
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

  /** Ids of the regions that a project can be in; the first is the default. */
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

  /** The host name that the project's endpoints share. */
  proxyHost(project: ProjectRecord): string {
    return regionHost(project.regionId, this.#world.settings.hostSuffix);
  }

  /** In the order of creation. Shows the past while a list lag is set. */
  endpoints(projectId: string): readonly EndpointRecord[] {
    return this.#run(() => this.#lists.endpoints(projectId));
  }

  /** As it is now, whatever the list lag. */
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

  /** A client of the database connects. `use`: what it did to the file cache of a running compute. */
  connect(endpointId: string, use: FileCacheUse | undefined): Mutation {
    return this.#run(() => connectTo(this.#world, endpointId, use));
  }

  /** An endpoint of any project, and the statistics of its compute; `undefined`: it does not run. */
  compute(endpointId: string): { readonly endpoint: EndpointRecord; readonly fileCache: FileCacheUse | undefined } {
    return this.#run(() => {
      const endpoint = anyEndpoint(this.#world, endpointId);
      return { endpoint, fileCache: this.#world.fileCaches.of(endpoint) };
    });
  }

  /** Newest first, at most `limit`, strictly after the position. Shows the past while a list lag is set. */
  operations(
    projectId: string,
    page: { readonly limit: number; readonly after: OperationPosition | undefined },
  ): readonly OperationRecord[] {
    return this.#run(() => this.#lists.operations(projectId, page));
  }

  /** As it is now, whatever the list lag. */
  operation(projectId: string, operationId: string): OperationRecord {
    return this.#run(() => {
      const operation = this.#world.store.operations.get(operationId);
      if (operation?.projectId !== this.#world.everProject(projectId).id) {
        throw new Refusal("NotFound", "operation not found");
      }
      return operation;
    });
  }

  /** Makes operations fail that start from now on. @throws Refusal NotAllowed (too many are planned) */
  failNext(failure: PlannedFailure): void {
    this.#world.failures.add(failure);
  }

  /** Failures that are planned and not used up yet. */
  plannedFailures(): readonly PlannedFailureState[] {
    return this.#world.failures.list();
  }

  /** @returns whether the failure was planned and not used up yet. */
  cancelFailure(id: string): boolean {
    return this.#world.failures.remove(id);
  }

  /** From now on lists of endpoints and operations show what was `lagMs` ago; 0: what is. */
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
