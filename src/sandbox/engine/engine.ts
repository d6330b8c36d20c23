/** The engine of the sandbox: the rules of a control plane, without HTTP and disk. */
import { type Bound, bind, callsOf, objectCalls, restoreCalls } from "./calls.ts";
import type { ComputeDriver } from "./compute-driver.ts";
import { loseCompute } from "./endpoints.ts";
import { expire } from "./expiry.ts";
import type { PlannedFailure, PlannedFailureState } from "./failure-plan.ts";
import type { Fixture } from "./fixture.ts";
import { ListViews } from "./lists.ts";
import { advanceOperation, noteWorkEnded, resumeWork } from "./operation-transitions.ts";
import type { Profile } from "./profile.ts";
import { RealWork } from "./real-work.ts";
import type { StoreContent, TimerRecord } from "./records.ts";
import { seedWorld } from "./seeding.ts";
import type { EngineSettings } from "./settings.ts";
import type { Store } from "./store.ts";
import { checkAvailability, rearm, skipMissedChecks, suspendIfInactive } from "./timers.ts";
import { World } from "./world.ts";

/** The clock that the engine reads. It may stand still. If it goes back, the engine keeps its latest time. */
export interface EngineClock {
  nowMs(): number;
}

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
export type Engine = EngineCore &
  Bound<ReturnType<typeof callsOf>> & {
    readonly objects: Bound<typeof objectCalls>;
    readonly restores: Bound<typeof restoreCalls>;
  };

export function makeEngine(parts: EngineParts): Engine {
  const core = new EngineCore(parts);
  const run = <T>(work: (world: World) => T): T => core.run(work);
  const groups = { objects: bind(objectCalls, run), restores: bind(restoreCalls, run) };
  return Object.assign(core, bind(callsOf(core.lists), run), groups);
}

class EngineCore {
  readonly profile: Profile;
  readonly lists: ListViews;
  readonly #world: World;
  readonly #clock: EngineClock;
  readonly #progress = new Set<() => void>();

  constructor({ store, clock, profile, settings, driver }: EngineParts) {
    this.profile = profile;
    const work = new RealWork(driver, (operationId) => this.#endWork(operationId));
    this.#world = new World(store, profile, settings, work);
    this.#clock = clock;
    this.lists = new ListViews(this.#world);
  }

  /** Replaces all records by the fixture. Planned failures and list lag are removed too. */
  reset(fixture: Fixture): void {
    this.#world.failures.clear();
    this.#world.work.forgetAll();
    this.lists.setLag(0);
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
    this.lists.setLag(0);
    this.#world.nowMs = Math.max(this.#world.nowMs, this.#clock.nowMs());
    this.#world.store.transaction(() => {
      this.#world.store.restore({ ...content, timers: [] });
      rearm(this.#world, content);
      resumeWork(this.#world);
    });
    this.advance();
  }

  /** The engine did not run when these checks became due. */
  skipMissedChecks(): void {
    this.#world.store.transaction(() => skipMissedChecks(this.#world, this.#clock.nowMs()));
  }

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

  resumeWork(): void {
    this.run(resumeWork);
  }

  /** Called after real work has ended or a server was lost: records may have changed without a request. */
  onProgress(listener: () => void): void {
    this.#progress.add(listener);
  }

  /** Must be called when a server has ended by itself. If its compute was active, the compute becomes idle. */
  loseCompute(endpointId: string): void {
    this.run((world) => loseCompute(world, endpointId));
    for (const listener of this.#progress) listener();
  }

  nextDueMs(): number | undefined {
    return this.#world.store.timers.next()?.dueMs;
  }

  failNext(failure: PlannedFailure): void {
    this.#world.failures.add(failure);
  }

  plannedFailures(): readonly PlannedFailureState[] {
    return this.#world.failures.list();
  }

  cancelFailure(id: string): boolean {
    return this.#world.failures.remove(id);
  }

  run<T>(work: (world: World) => T): T {
    this.advance();
    return this.#world.store.transaction(() => work(this.#world));
  }

  #endWork(operationId: string): void {
    this.run((world) => noteWorkEnded(world, operationId));
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
