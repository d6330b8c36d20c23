/** The reconcile of one project. docs/code.md describes its steps. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Requeue } from "../domain/worker.ts";
import { noProject } from "../resource/compute-endpoint.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import { Decision } from "./decision.ts";
import { isProjectGone, nextFailure } from "./failures.ts";
import type {
  ControlPlaneAccess,
  ControlPlaneUnit,
  EngineContext,
  Kind,
  KindInProject,
  KindTypes,
  PlanOf,
  ProjectFacts,
} from "./kind.ts";
import { memoryOf, type ProjectMemory, type ResourceMemory } from "./memory.ts";
import { type ProjectReads, readProject } from "./project-reads.ts";
import { ResourceReconcile } from "./resource-reconcile.ts";
import { firstChange, isLocked, nextChangeMs, nextDueMs } from "./schedule.ts";
import type { Calls } from "./send-change.ts";

/**
 * Reconciles one project: decide → observe → decide → send one change, store the others → schedule.
 *
 * Level-triggered: the reason why the project is due does not matter. Guarantees: one reconcile sends at most one
 * change to the control plane. A crash between any two steps leaves an ordinary starting state.
 * Assumption: no two reconciles of one project overlap.
 * @param key the key of the project, with its control plane
 */
export async function reconcileProject(context: EngineContext, key: string): Promise<Requeue> {
  const { planeId, projectId } = parseProjectKey(key);
  const unit = context.unitOf(planeId);
  if (context.forgets?.() === true) {
    unit.projects.forget(projectId);
  }
  if (!unit.isKnown) {
    return { kind: "RequeueAfter", delayMs: unusableAgainMs };
  }
  return new ProjectReconcile(context, { unit, key }).run();
}

interface ProjectOfUnit {
  readonly unit: ControlPlaneUnit;
  readonly key: string;
}

class ProjectReconcile {
  readonly #context: EngineContext;
  readonly #of: ProjectOfUnit;
  readonly #memory: ProjectMemory;
  readonly #facts: ProjectFacts;
  readonly #scopes: { readonly kind: Kind<KindTypes>; readonly scope: KindInProject<KindTypes> }[] = [];
  readonly #resources: readonly ResourceReconcile<KindTypes>[];

  constructor(context: EngineContext, of: ProjectOfUnit) {
    this.#context = context;
    this.#of = of;
    this.#facts = factsOf(context, of);
    this.#memory = of.unit.projects.of(this.#facts.projectId);
    this.#resources = context.kinds.flatMap((kind) => this.#resourcesOf(kind));
    this.#forgetGone();
  }

  async run(): Promise<Requeue> {
    await Promise.all(this.#resources.map((each) => each.decideLocally()));
    await this.#readAndAct();
    return this.#requeue();
  }

  #resourcesOf(kind: Kind<KindTypes>): readonly ResourceReconcile<KindTypes>[] {
    const project = this.#facts;
    const scope = kind.begin(project);
    this.#scopes.push({ kind, scope });
    return kind.resourcesOf(project).map((resource) => {
      const memory: ResourceMemory = memoryOf(this.#memory, resource, project.monotonicMs);
      const projectMemory = this.#memory;
      return new ResourceReconcile({ context: this.#context, kind, scope, memory, project, projectMemory, resource });
    });
  }

  #forgetGone(): void {
    const isHere = new Set(this.#resources.map(({ resource }) => resource.uid));
    for (const [uid, { key }] of this.#memory.resources) {
      if (!isHere.has(uid)) {
        this.#memory.resources.delete(uid);
        // Its series stay while the cache has a resource of this key that counts operations, perhaps in another project.
        const isCounted = this.#scopes.some(
          ({ kind, scope }) => scope.logOf !== undefined && kind.store.get(key) !== undefined,
        );
        if (!isCounted) this.#context.metrics.forgetResource(key);
      }
    }
  }

  /** Reads the project if a poll or a decision is due, and sends at most one change. */
  async #readAndAct(): Promise<void> {
    const wanted = this.#wantedRead();
    const { access } = this.#of.unit;
    if (wanted === undefined || access === undefined) {
      return;
    }
    const chosen = this.#resources.filter((each) => each.wantsRead() && (wanted === "Poll" || each.isExpecting()));
    const held = this.#memory.readFailure;
    if (held !== undefined && this.#facts.monotonicMs < held.retryAtMs && !this.#mayTryEarly(held.error)) {
      await this.#fail(chosen, false);
      return;
    }
    const calls = this.#callsOf(access, chosen);
    try {
      const reads = await this.#read(calls, chosen);
      if (wanted === "Poll" || held !== undefined) this.#notePoll(reads, access);
      await this.#act(chosen, calls);
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) throw error;
      await this.#readFailed(error, calls, chosen);
    }
  }

  #wantedRead(): "Poll" | "Part" | undefined {
    const { monotonicMs, problem, policy } = this.#facts;
    const project = this.#memory;
    const isUseful = this.#resources.some((each) => each.wantsRead());
    if (
      project.projectId === noProject ||
      (!isUseful && (this.#resources.length > 0 || project.listedWith === undefined))
    ) {
      // The operator does not poll a project that it cannot read, or for which no namespace has a grant.
      project.nextPollAtMs = Math.max(project.nextPollAtMs, monotonicMs + this.#context.projectPollMs);
      return undefined;
    }
    if (problem !== undefined) {
      return undefined;
    }
    if (project.nextPollAtMs <= monotonicMs) {
      return "Poll";
    }
    const isChangeDue = nextChangeMs(project, monotonicMs, policy) <= monotonicMs;
    const isNeeded = this.#resources.some(
      (each) => each.wantsRead() && (each.isDue || (each.isWaiting && isChangeDue)),
    );
    return isNeeded ? "Part" : undefined;
  }

  /** A person may have removed the cause of a 400, 403 or 404. After any other failure no read comes early. */
  #mayTryEarly({ reason }: ControlPlaneError): boolean {
    const isRefusal = reason === "Forbidden" || reason === "NotFound" || reason === "Malformed";
    return isRefusal && this.#resources.some((each) => each.isDue && each.isAskedFor());
  }

  /** Kinds decide in their order: later ones use what earlier ones have read by id. @throws ControlPlaneError */
  async #read(calls: Calls, chosen: readonly ResourceReconcile<KindTypes>[]): Promise<ProjectReads> {
    const project = this.#memory;
    const ranges = this.#resources.flatMap(({ shownLog }) => shownLog?.since ?? []);
    const reads = await readProject({ clock: this.#context.clock, controlPlane: calls.controlPlane }, project, ranges);
    project.listedWith = await calls.keyMark();
    // If each of them read its branch for each change of the others, the reads would grow with their square.
    const queued = chosen.flatMap((each) => each.queued() ?? []);
    const next = firstChange(queued, project.lastChange?.namespace);
    const behind = new Set(queued.map(({ uid }) => uid).filter((uid) => uid !== next?.uid));
    for (const kind of this.#context.kinds) {
      await Promise.all(
        chosen
          .filter((each) => each.kind === kind)
          .map((each) => each.decideWithReads(calls.controlPlane, reads, !behind.has(each.resource.uid))),
      );
    }
    project.readFailure = undefined;
    return reads;
  }

  /** Sends the first waiting change. Meanwhile the others are stored, but a change that waits only when it is due. */
  async #act(chosen: readonly ResourceReconcile<KindTypes>[], calls: Calls): Promise<void> {
    const isOpen = !isLocked(this.#memory, this.#facts.monotonicMs);
    const wishes = chosen.flatMap((each) => each.wish() ?? []);
    const first = isOpen ? firstChange(wishes, this.#memory.lastChange?.namespace) : undefined;
    await Promise.all(chosen.map((each) => (each.resource.uid === first?.uid ? each.send(calls) : each.finish())));
  }

  /**
   * Sets the time of the next poll. With many projects the interval grows, so that polls stay within their share of the
   * request budget. While an operation locks the project, there is no list, and the poll waits.
   */
  #notePoll({ snapshot }: ProjectReads, { pollsPerMinute }: ControlPlaneAccess): void {
    const { clock, random, projectPollMs } = this.#context;
    const project = this.#memory;
    if (snapshot === undefined) {
      project.nextPollAtMs = nextChangeMs(project, clock.monotonicMs(), this.#facts.policy);
      return;
    }
    const intervalMs = Math.max(projectPollMs, (this.#of.unit.projects.size / pollsPerMinute) * 60_000);
    project.nextPollAtMs = clock.monotonicMs() + intervalMs * (1 - 0.1 * random());
    const orphans = this.#scopes.flatMap(({ scope }) => scope.orphansIn?.(snapshot) ?? []);
    for (const endpointId of orphans.filter((id) => !project.orphanIds.has(id))) {
      const fields = { projectId: project.projectId, endpointId };
      this.#context.logger.warn(
        fields,
        "this cluster created an endpoint that no resource owns; the operator does not delete it",
      );
    }
    project.orphanIds = new Set(orphans);
  }

  async #readFailed(
    error: ControlPlaneError,
    calls: Calls,
    chosen: readonly ResourceReconcile<KindTypes>[],
  ): Promise<void> {
    const project = this.#memory;
    const latest = { error, generation: 0, nowMs: this.#context.clock.monotonicMs() };
    const row = nextFailure(project.readFailure, latest, this.#context);
    project.readFailure = row;
    // The next try is a poll, so that it updates every resource of the project.
    project.nextPollAtMs = row.retryAtMs;
    const isGone = isProjectGone(error, latest.nowMs - row.sinceMs) && project.listedWith === (await calls.keyMark());
    if (isGone && this.#resources.length === 0) {
      project.listedWith = undefined;
      project.orphanIds = new Set();
    }
    await this.#fail(chosen, isGone);
  }

  async #fail(chosen: readonly ResourceReconcile<KindTypes>[], isGone: boolean): Promise<void> {
    const { readFailure } = this.#memory;
    if (readFailure !== undefined) {
      const { error, sinceMs } = readFailure;
      const forMs = this.#context.clock.monotonicMs() - sinceMs;
      await Promise.all(chosen.map((each) => each.fail(error, forMs, isGone)));
    }
  }

  #callsOf(access: ControlPlaneAccess, chosen: readonly ResourceReconcile<KindTypes>[]): Calls {
    const { unitOf } = this.#context;
    const { unit } = this.#of;
    const urgency = chosen.some((each) => each.isUrgent()) ? "Urgent" : "Background";
    const caller = access.forCaller({ urgency, project: this.#facts.projectId });
    return { ...caller, isCurrent: () => unitOf(unit.id).access === access };
  }

  #requeue(): Requeue {
    const { projects, problem } = this.#of.unit;
    const { projectId, listedWith, operationsReadAtMs, orphanIds } = this.#memory;
    // A project without resources is forgotten after a read that finds no orphans in it. With orphans, it stays counted.
    const isSearched = listedWith === undefined || operationsReadAtMs >= this.#facts.monotonicMs;
    if (this.#resources.length === 0 && orphanIds.size === 0 && isSearched) {
      projects.forget(projectId);
      return { kind: "Done" };
    }
    const nowMs = this.#context.clock.monotonicMs();
    const leastMs = problem === undefined ? 0 : unusableAgainMs;
    const delayMs = Math.max(leastMs, nextDueMs(this.#memory, nowMs, this.#facts.policy) - nowMs);
    return Number.isFinite(delayMs) ? { kind: "RequeueAfter", delayMs } : { kind: "Done" };
  }
}

export function factsOf(
  { clock, policy }: Pick<EngineContext, "clock" | "policy">,
  { unit, key }: ProjectOfUnit,
): ProjectFacts {
  const { projectId } = parseProjectKey(key);
  const { id: planeId, identity, grantOf, problem } = unit;
  const times = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  return { ...times, key, planeId, projectId, identity, policy, grantOf, problem };
}

/**
 * The shortest interval between two reconciles of a project whose control plane cannot be used, or is not known yet, in
 * milliseconds. A changed resource is reconciled at once.
 */
const unusableAgainMs = 1_000;

/**
 * Decides about one resource as an operator that has just started, and changes nothing. The operator adds its finalizer
 * before it reads; this plan is what follows. @throws ControlPlaneError
 * @returns `afterOperation`: the operation that locks the project and delays the plan
 */
export async function dryRun<T extends KindTypes>(
  context: Pick<EngineContext, "clock" | "policy"> &
    ProjectOfUnit & { readonly kind: Pick<Kind<T>, "begin" | "finalizer"> },
  resource: T["resource"],
  controlPlane: ControlPlane,
): Promise<{ readonly plan: PlanOf<T>; readonly afterOperation: string | undefined }> {
  const { clock, kind, unit } = context;
  const facts = factsOf(context, context);
  const scope = kind.begin(facts);
  const project = unit.projects.of(facts.projectId);
  const memory = memoryOf(project, resource, facts.monotonicMs);
  const decision = new Decision({ kind, scope, project: facts, memory, resource });
  if (decision.plan.kind !== "Look") {
    return { plan: decision.plan, afterOperation: undefined };
  }
  const range = decision.shownLog?.since;
  const reads = await readProject({ clock, controlPlane }, project, range ? [range] : []);
  await decision.readAndDecide(controlPlane, reads);
  const isDelayed = reads.snapshot === undefined && (decision.shape === "Change" || decision.shape === "Look");
  return { plan: decision.plan, afterOperation: isDelayed ? reads.lockHolder?.id : undefined };
}
