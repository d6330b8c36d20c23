/** The reconcile of one project. docs/code.md describes its steps. */

import { nextFailure } from "../decide/call-failures.ts";
import { mayClaimAt } from "../decide/claims.ts";
import type { Identity } from "../decide/identity.ts";
import type { FailureRow } from "../decide/observation.ts";
import { retainsEndpoint } from "../decide/plan-resource.ts";
import { type Caller, type CallGuard, guardCalls } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { Requeue, WorkerSlot } from "../domain/worker.ts";
import {
  type ComputeEndpoint,
  isBeingDeleted,
  noProject,
  planeOf,
  projectKeysOf,
  workKeyOf,
} from "../resource/compute-endpoint.ts";
import { parseProjectKey, settingsPlane } from "../resource/control-plane-resource.ts";
import { CarryOut } from "./carry-out.ts";
import { forgetGone, noteOrphans } from "./gone-resources.ts";
import { lookAt } from "./look.ts";
import type { ControlPlaneAccess, ControlPlaneUnit, ProjectCalls, ReconcileContext } from "./ports.ts";
import { entryFor, type ProjectMemory } from "./project-memory.ts";
import { Round, type WorkedResource } from "./round.ts";
import { isAskedFor, isDue, lockHolderOf, nextChangeMs, nextDueMs, pollIntervalMs } from "./schedule.ts";
import { settleLocally } from "./settle-locally.ts";
import { failResources } from "./settle-step.ts";

/**
 * A resource that is due within this many milliseconds is reconciled together with those that are due now. So the
 * project is not read twice.
 */
const dueSoonMs = 250;

/** What one reconcile wants to read of the control plane. */
interface WantedLook {
  readonly due: readonly WorkedResource[];
  /** True: the regular poll is due, and the reconcile decides about every resource of the project. */
  readonly isPoll: boolean;
}

/**
 * Reconciles one project: observe → decide → choose → act → store → schedule.
 *
 * Level-triggered: the reason why the project is due does not matter. Guarantees: one reconcile sends at most one
 * change to the control plane. It writes at most one status patch per resource. Before a create or DELETE it writes one
 * more, and another to take an unused intent back. A resource that is decided locally may get one more after the read.
 * A crash between any two steps leaves an ordinary starting state.
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
    const { clock } = this.#context;
    const { planeId, projectId } = parseProjectKey(key);
    const unit = this.#context.unitOf(planeId);
    const { projects } = unit;
    const project = projects.of(projectId);
    const round = this.#begin(project, unit, key);
    forgetGone(this.#context, round);
    await Promise.all([settleLocally(this.#context, round), ...round.kinds.map((kind) => kind.settleLocally())]);
    if (!unit.isSettled) {
      return { kind: "RequeueAfter", delayMs: unusableAgainMs };
    }
    const wanted = this.#wantedLook(round);
    if (wanted !== undefined) {
      await this.#look(round, unit, wanted, slot);
    }
    projects.forgetEmpty();
    if (!projects.has(projectId)) {
      return { kind: "Done" };
    }
    const nowMs = clock.monotonicMs();
    const leastMs = unit.problem === undefined ? 0 : unusableAgainMs;
    const delayMs = Math.max(leastMs, nextDueMs(project, nowMs, this.#context.policy, round.kinds) - nowMs);
    return Number.isFinite(delayMs) ? { kind: "RequeueAfter", delayMs } : { kind: "Done" };
  }

  #begin(project: ProjectMemory, unit: ControlPlaneUnit, key: string): Round {
    const { clock, store, policy } = this.#context;
    const { access, grantOf, problem, isSettled } = unit;
    const identity = access?.identity ?? this.#unusable();
    const facts = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs(), identity, policy, planeProblem: problem };
    const named = store.inProject(project.projectId);
    const isHere = (resource: ComputeEndpoint) => projectKeysOf(resource).includes(key);
    const all = named.filter(isHere);
    const elsewhere =
      all.length === named.length
        ? []
        : named.filter((resource) => planeOf(resource) !== unit.id && mayClaimAt(identity.serviceUrl, resource));
    const isDecidable = (resource: ComputeEndpoint) =>
      isSettled || (isBeingDeleted(resource) && retainsEndpoint(resource));
    const own = all.filter((resource) => workKeyOf(resource) === key && isDecidable(resource));
    const worked = own.map((resource) => ({ resource, entry: entryFor(project, resource, facts.monotonicMs) }));
    const { monotonicMs } = facts;
    const start = { key, planeId: unit.id, identity, grantOf, problem, isSettled, monotonicMs, endpoints: all };
    const kinds = (this.#context.kinds ?? []).map((kind) => kind.begin(start));
    project.furtherResources = kinds.reduce((sum, { size }) => sum + size, 0);
    const round = new Round(facts, project, { all, elsewhere, worked, kinds, grantOf });
    for (const each of round.worked) {
      noteGrant(round, each);
    }
    return round;
  }

  /** Returns the identity that takes the place of that of an unusable control plane. It names only the cluster. */
  #unusable(): Identity {
    const { clusterId = "" } = this.#context.unitOf(settingsPlane).access?.identity ?? {};
    return { clusterId, serviceUrl: "" };
  }

  /** Returns what to read of the control plane now; `undefined`: nothing needs to be read. */
  #wantedLook(round: Round): WantedLook | undefined {
    const { project, facts } = round;
    const nowMs = facts.monotonicMs;
    if (project.projectId === noProject) {
      return undefined;
    }
    if (facts.planeProblem !== undefined) {
      project.nextPollAtMs = Math.max(project.nextPollAtMs, nowMs + this.#context.projectPollMs);
      return undefined;
    }
    if (round.isUngranted()) {
      // No namespace has a grant for this project, so the operator does not read it.
      project.nextPollAtMs = Math.max(project.nextPollAtMs, nowMs + this.#context.projectPollMs);
    }
    const isPoll = project.nextPollAtMs <= nowMs;
    const lookable = round.lookable();
    const dueBy = (timeMs: number) =>
      lookable.filter(({ resource, entry }) => isPoll || isDue(resource, entry, timeMs));
    const isChangeDue =
      (round.isWaiting() && nextChangeMs(project, nowMs, this.#context.policy) <= nowMs) ||
      (project.lockedUntilMs <= nowMs && isAbandonedDue(project, nowMs));
    const isKindDue = round.kinds.some((kind) => kind.wantsLook());
    const isLookDue = isPoll || isChangeDue || isKindDue || dueBy(nowMs).length > 0;
    return isLookDue ? { due: dueBy(nowMs + dueSoonMs), isPoll } : undefined;
  }

  /** Reads the project, and works on what is due. If the read fails, status reports that. */
  async #look(round: Round, unit: ControlPlaneUnit, wanted: WantedLook, slot: WorkerSlot): Promise<void> {
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

/** Makes the resource due if its grant, or the problem of its control plane, has changed. */
function noteGrant(round: Round, { resource, entry }: WorkedResource): void {
  const { grant, planeProblem } = round.observe({ resource, entry });
  const before = entry.standing;
  entry.standing = { grant, planeProblem };
  const isSame =
    before === undefined ||
    (before.grant.mayChange === grant.mayChange &&
      before.grant.mayAdopt === grant.mayAdopt &&
      before.planeProblem?.message === planeProblem?.message);
  if (!isSame) {
    entry.dueAtMs = round.facts.monotonicMs;
  }
}

function isAbandonedDue({ abandoned }: ProjectMemory, nowMs: number): boolean {
  return [...abandoned.values()].some(({ retryAtMs }) => retryAtMs <= nowMs);
}

/**
 * Whether to read again before the retry time, because a person edited a resource or asked for a reconcile. That may
 * have removed the cause of a 400, 403 or 404. After any other failure the operator does not read early.
 */
function mayTryEarly({ reason }: ControlPlaneError, due: readonly WorkedResource[]): boolean {
  const isRefusal = reason === "Forbidden" || reason === "NotFound" || reason === "Malformed";
  return isRefusal && due.some(({ resource }) => isAskedFor(resource));
}
