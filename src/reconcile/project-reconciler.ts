/** The reconcile of one project. docs/code.md describes its steps. */

import { nextFailure } from "../decide/call-failures.ts";
import type { FailureRow } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { localPlanOf } from "../decide/plan-resource.ts";
import { type Caller, type CallGuard, guardCalls } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { isSameStored } from "../domain/same-stored.ts";
import type { Requeue, WorkerSlot } from "../domain/worker.ts";
import { hasFinalizer, isBeingDeleted } from "../resource/compute-endpoint.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { CarryOut } from "./carry-out.ts";
import { forgetGone, noteOrphans } from "./gone-resources.ts";
import { inParallel } from "./in-parallel.ts";
import { lookAt } from "./look.ts";
import type { ControlPlaneAccess, ControlPlaneUnit, ProjectCalls, ReconcileContext } from "./ports.ts";
import { noteStoredIntent, type ProjectMemory, remember, type UnconfirmedWrite } from "./project-memory.ts";
import { countEnded, publish, reportDropped, resourceFields } from "./report.ts";
import { beginRound, isAskedFor, type Round, type WorkedResource } from "./round.ts";
import { isDue, lockHolderOf, nextDueMs, pollIntervalMs, type WantedLook, wantedLook } from "./schedule.ts";
import { failResources, guardedStep, settleStep, storesAtOnce } from "./settle-step.ts";

/**
 * Reconciles one project: observe → decide → choose → act → store → schedule.
 *
 * Level-triggered: the reason why the project is due does not matter. Guarantees: one reconcile sends at most one
 * change to the control plane. A crash between any two steps leaves an ordinary starting state.
 * It writes at most one status patch per resource, and one more in each of these cases: before a create or DELETE; to
 * remove an intent that was not used; after the read, if the resource was also decided locally.
 * Assumption: no two reconciles of one project overlap.
 */
export class ProjectReconciler {
  readonly #context: ReconcileContext;

  constructor(context: ReconcileContext) {
    this.#context = context;
  }

  /**
   * Reconciles the project once.
   * @param key the key of the project, with its control plane
   * Errors: no expected error is thrown. A failure of one resource does not affect the others.
   */
  async reconcile(key: string, slot: WorkerSlot): Promise<Requeue> {
    const context = this.#context;
    const unit = context.unitOf(parseProjectKey(key).planeId);
    const round = beginRound(context, unit, key);
    forgetGone(context, round);
    await Promise.all([settleLocally(context, round), ...round.kinds.map((kind) => kind.settleLocally())]);
    if (!unit.isKnown) {
      return { kind: "RequeueAfter", delayMs: unusableAgainMs };
    }
    const wanted = wantedLook(round, context.projectPollMs);
    if (wanted !== undefined) {
      await this.#observeAndAct(round, unit, wanted, slot);
    }
    return this.#requeue(round, unit);
  }

  #requeue({ project, kinds }: Round, { projects, problem }: ControlPlaneUnit): Requeue {
    projects.forgetEmpty();
    if (!projects.has(project.projectId)) {
      return { kind: "Done" };
    }
    const { clock, policy } = this.#context;
    const nowMs = clock.monotonicMs();
    const leastMs = problem === undefined ? 0 : unusableAgainMs;
    const delayMs = Math.max(leastMs, nextDueMs(project, nowMs, policy, kinds) - nowMs);
    return Number.isFinite(delayMs) ? { kind: "RequeueAfter", delayMs } : { kind: "Done" };
  }

  /** Observes the project, decides, chooses and acts. If the project cannot be read, status reports that. */
  async #observeAndAct(round: Round, unit: ControlPlaneUnit, wanted: WantedLook, slot: WorkerSlot): Promise<void> {
    const { project, facts } = round;
    const { due } = wanted;
    const held = project.readFailure;
    if (held !== undefined && facts.monotonicMs < held.retryAtMs && !mayTryEarly(held.error, due)) {
      await this.#fail(round, due, held);
      return;
    }
    const { access } = unit;
    if (access === undefined) {
      return;
    }
    const calls = this.#callsOf(unit, access, slot, round.callerFor(due));
    try {
      // If a change waits and no operation locks the project, the reconcile reserves the request of that change before it
      // reads. So the read is still recent when the change is sent.
      if (round.isWaiting() && lockHolderOf(project, facts.monotonicMs) === undefined) {
        await calls.reserve();
      }
      const { clock } = this.#context;
      const { look, decided } = await lookAt({ clock, controlPlane: calls.controlPlane }, round, wanted);
      project.readFailure = undefined;
      if (wanted.isPoll) {
        this.#schedulePoll(project, unit.projects.size, access);
        noteOrphans(this.#context, round, look.snapshot);
      }
      await new CarryOut(this.#context, calls, round, look).run(decided);
      project.operations.prune();
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      await this.#readFailed(round, due, error);
    }
  }

  #callsOf(unit: ControlPlaneUnit, access: ControlPlaneAccess, slot: WorkerSlot, caller: Caller): ProjectCalls {
    const whileWaiting: CallGuard = (call) => slot.whileWaiting(call);
    const guards = { read: whileWaiting, write: whileWaiting };
    let reservation: Promise<void> | undefined;
    return {
      controlPlane: guardCalls(access.forCaller(caller), guards),
      reserve: () => {
        reservation ??= whileWaiting(() => access.reserve(caller));
        return reservation;
      },
      reserved: guardCalls(access.reserved, guards),
      whileWorking: (work) => slot.whileWorking(work),
      isCurrent: () => this.#context.unitOf(unit.id).access === access,
    };
  }

  #schedulePoll(project: ProjectMemory, projects: number, { pollsPerMinute }: ControlPlaneAccess): void {
    const { clock, random, projectPollMs } = this.#context;
    const intervalMs = pollIntervalMs({ projectPollMs, projects, pollsPerMinute });
    project.nextPollAtMs = clock.monotonicMs() + intervalMs * (1 - 0.1 * random());
  }

  async #readFailed(round: Round, due: readonly WorkedResource[], error: ControlPlaneError): Promise<void> {
    const { project } = round;
    const latest = { error, generation: 0, nowMs: this.#context.clock.monotonicMs() };
    project.readFailure = nextFailure(project.readFailure, latest, this.#context);
    // The next try is a poll, so that it updates every resource of the project.
    project.nextPollAtMs = project.readFailure.retryAtMs;
    await this.#fail(round, due, project.readFailure);
  }

  async #fail(round: Round, due: readonly WorkedResource[], { error, sinceMs }: FailureRow) {
    const forMs = this.#context.clock.monotonicMs() - sinceMs;
    await Promise.all([
      failResources(this.#context, round, due, { error, forMs }),
      ...round.kinds.map((kind) => kind.fail(error, forMs)),
    ]);
  }
}

/**
 * The shortest interval between two reconciles of a project whose control plane cannot be used, or is not known yet, in
 * milliseconds. A changed resource is reconciled at once.
 */
const unusableAgainMs = 1_000;

/**
 * Whether to read again before the retry time, because a person edited a resource or asked for a reconcile. The person
 * may have removed the cause of a 400, 403 or 404. After any other failure the operator does not read early.
 */
function mayTryEarly({ reason }: ControlPlaneError, due: readonly WorkedResource[]): boolean {
  const isRefusal = reason === "Forbidden" || reason === "NotFound" || reason === "Malformed";
  return isRefusal && due.some(({ resource }) => isAskedFor(resource));
}

/**
 * Decides and stores what needs no control plane: pauses, `Retain`, invalid specs and finalizers. This step comes
 * first, so that an outage of the control plane never delays it.
 */
async function settleLocally(context: ReconcileContext, round: Round): Promise<void> {
  for (const worked of round.worked) {
    // This includes resources that are not due, because a poll decides about them too.
    catchUp(context, round, worked);
  }
  const due = round.worked.filter(({ resource, entry }) => isDue(resource, entry, round.facts.monotonicMs));
  await inParallel(due, storesAtOnce, (worked) =>
    guardedStep(context, round, worked, () => settle(context, round, worked)),
  );
}

async function settle(context: ReconcileContext, round: Round, worked: WorkedResource): Promise<void> {
  const current = await context.store.current(worked.resource.key);
  if (current?.uid !== worked.resource.uid) {
    round.leaveOut(worked);
    worked.entry.dueAtMs = context.clock.monotonicMs() + goneAgainMs;
    return;
  }
  worked.resource = current;
  catchUp(context, round, worked);
  let plan = localPlanOf(round.observe(worked));
  if (plan?.kind === "AddFinalizer") {
    worked.resource = await context.store.addFinalizer(current);
    context.logger.info(resourceFields(current), "finalizer added");
    plan = localPlanOf(round.observe(worked));
  }
  if (plan !== undefined) {
    await settlePlan(context, round, worked, plan);
  }
}

/** Until the watch reports that a resource is gone, the operator checks again at this interval, in milliseconds. */
const goneAgainMs = 1_000;

async function settlePlan(context: ReconcileContext, round: Round, worked: WorkedResource, plan: Plan): Promise<void> {
  worked.entry.waiting = undefined;
  const isReleased =
    plan.kind === "RemoveFinalizer" || (isBeingDeleted(worked.resource) && !hasFinalizer(worked.resource));
  const isLookPending = !isReleased && round.isObservable(worked);
  const local = round.observe(worked);
  const step = { local, observation: undefined, plan, outcome: { kind: "NothingSent" }, isLookPending } as const;
  await settleStep(context, round, { worked, step });
  if (isLookPending) {
    worked.entry.dueAtMs = round.facts.monotonicMs;
  }
}

/** Updates the memory of a resource by what is stored in the API server now. */
function catchUp(context: ReconcileContext, { facts }: Round, worked: WorkedResource): void {
  const { resource, entry } = worked;
  if (resource.status.ownership !== undefined && entry.memory.answeredCreate !== undefined) {
    remember(entry, { answeredCreate: undefined });
  }
  noteStoredIntent(entry, resource, facts.monotonicMs);
  confirmWrites(context, worked);
}

/** Publishes the events and counts of a write without an answer, once the resource shows that it was stored. */
function confirmWrites(context: ReconcileContext, { resource, entry }: WorkedResource): void {
  const landed = entry.unconfirmed.find((write) => hasLanded(write, resource.status));
  if (landed !== undefined) {
    // All these writes named one version of the resource, so the API server can store only one of them.
    entry.unconfirmed = [];
    entry.storeFailures = 0;
    countEnded(context, resource.key, landed.ended);
    reportDropped(context, resource, landed.dropped);
    publish(context, resource, landed.events);
  }
}

/**
 * Whether a write without an answer was stored. A write that counted operations is recognized by the watermark, any
 * other by the whole status. A removed finalizer is not recognized here, because the resource is gone then.
 */
function hasLanded({ status, ended }: UnconfirmedWrite, now: ComputeEndpointStatus): boolean {
  if (status === undefined) {
    return false;
  }
  return ended.length > 0 ? isSameStored(now.operationWatermark, status.operationWatermark) : isSameStored(now, status);
}
