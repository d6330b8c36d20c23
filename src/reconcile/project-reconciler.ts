/** The reconcile of one project. docs/code.md describes its steps. */
import { isProjectGone, nextFailure } from "../decide/call-failures.ts";
import type { FailureRow } from "../decide/observation.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import type { Requeue } from "../domain/worker.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import { EndpointRound } from "./endpoint-round.ts";
import { forgetGone, noteOrphans } from "./gone-resources.ts";
import { noteStarted, observeProject } from "./observe-project.ts";
import type {
  ControlPlaneAccess,
  ControlPlaneUnit,
  KindChange,
  KindRound,
  KindSent,
  ReconcileContext,
} from "./ports.ts";
import type { ProjectMemory } from "./project-memory.ts";
import { beginRound, type Round } from "./round.ts";
import { isLocked, nextChangeMs, nextDueMs, orderOfChanges, wantedLook } from "./schedule.ts";

/** The maximum number of waiting changes that one reconcile decides again until it finds one that is still wanted. */
const triesLimit = 50;

interface Work {
  readonly unit: ControlPlaneUnit;
  readonly round: Round;
  readonly kinds: readonly KindRound[];
}

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

  /** No expected error is thrown. @param key the key of the project, with its control plane */
  async reconcile(key: string): Promise<Requeue> {
    const context = this.#context;
    const { planeId, projectId } = parseProjectKey(key);
    const unit = context.unitOf(planeId);
    if (context.forgets?.() === true) {
      unit.projects.forget(projectId);
      for (const kind of context.kinds ?? []) {
        kind.forget(key);
      }
    }
    const { round, further } = beginRound(context, unit, key);
    forgetGone(context, round);
    const kinds = [new EndpointRound(context, round), ...further];
    await Promise.all(kinds.map((kind) => kind.decideLocally()));
    if (!unit.isKnown) {
      return { kind: "RequeueAfter", delayMs: unusableAgainMs };
    }
    const wanted = wantedLook(round, kinds, context.projectPollMs);
    if (wanted !== undefined) {
      await this.#observeAndAct({ unit, round, kinds }, wanted === "Poll");
    }
    return this.#requeue(unit, round, kinds);
  }

  #requeue({ projects, problem }: ControlPlaneUnit, { project }: Round, kinds: readonly KindRound[]): Requeue {
    projects.forgetEmpty();
    if (!projects.has(project.projectId)) {
      return { kind: "Done" };
    }
    const { clock, policy } = this.#context;
    const nowMs = clock.monotonicMs();
    const leastMs = problem === undefined ? 0 : unusableAgainMs;
    const delayMs = Math.max(leastMs, nextDueMs(project, kinds, { nowMs, policy }) - nowMs);
    return Number.isFinite(delayMs) ? { kind: "RequeueAfter", delayMs } : { kind: "Done" };
  }

  /**
   * Observes the project, decides, chooses and acts. If the project cannot be read, each kind reports that in status, and
   * the next read waits for its retry time. After a 400, 403 or 404, a person's edit or request ends that wait.
   */
  async #observeAndAct(work: Work, isPoll: boolean): Promise<void> {
    const { unit, round, kinds } = work;
    const { project, facts } = round;
    const held = project.readFailure;
    if (held !== undefined && facts.monotonicMs < held.retryAtMs && !mayTryEarly(held.error, kinds)) {
      await this.#fail(kinds, held, false);
      return;
    }
    const { access } = unit;
    if (access === undefined) {
      return;
    }
    const calls = callsOf(this.#context, work, access);
    try {
      const { controlPlane } = calls;
      const seen = await observeProject({ clock: this.#context.clock, controlPlane }, round);
      project.listedWith = await calls.keyMark();
      const mayChange = !isLocked(project, facts.monotonicMs);
      for (const kind of kinds) {
        // ComputeEndpoints come first, because they bring the snapshot up to date.
        const snapshot = project.snapshot ?? seen.snapshot;
        await kind.look({ ...seen, snapshot, controlPlane, mayChange });
      }
      project.readFailure = undefined;
      if (held !== undefined && !isPoll) {
        // This read succeeded before its retry time, which can be ten minutes away. The poll does not wait for that time.
        project.nextPollAtMs = this.#context.clock.monotonicMs();
      }
      if (isPoll) {
        this.#notePoll(work, seen.snapshot, access);
      }
      await this.#act(work, calls);
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      await this.#readFailed(work, error, calls);
    }
  }

  /** Sends at most one change to the control plane, and meanwhile stores the results of the other decisions. */
  async #act({ round, kinds }: Work, { change }: Calls): Promise<void> {
    const chosen = await chooseChange(kinds, round);
    await Promise.all([...kinds.map((kind) => kind.store(chosen?.uid)), chosen?.kind.change(chosen.uid, change)]);
  }

  /**
   * Sets the time of the next poll. With many projects the interval grows, so that polls stay within their share of the
   * request budget. While an operation locks the project, there is no list, and the poll waits.
   */
  #notePoll({ unit, round }: Work, snapshot: ProjectSnapshot, { pollsPerMinute }: ControlPlaneAccess): void {
    const { clock, random, projectPollMs } = this.#context;
    const { project, facts } = round;
    if (snapshot.startedAtMs < facts.monotonicMs) {
      project.nextPollAtMs = nextChangeMs(project, clock.monotonicMs(), facts.policy);
      return;
    }
    const intervalMs = Math.max(projectPollMs, (unit.projects.size / pollsPerMinute) * 60_000);
    project.nextPollAtMs = clock.monotonicMs() + intervalMs * (1 - 0.1 * random());
    noteOrphans(this.#context, round, snapshot);
  }

  async #readFailed({ round: { project }, kinds }: Work, error: ControlPlaneError, calls: Calls): Promise<void> {
    const latest = { error, generation: 0, nowMs: this.#context.clock.monotonicMs() };
    const row = nextFailure(project.readFailure, latest, this.#context);
    project.readFailure = row;
    // The next try is a poll, so that it updates every resource of the project.
    project.nextPollAtMs = row.retryAtMs;
    const isGone = isProjectGone(error, latest.nowMs - row.sinceMs) && project.listedWith === (await calls.keyMark());
    await this.#fail(kinds, row, isGone);
  }

  async #fail(kinds: readonly KindRound[], { error, sinceMs }: FailureRow, isGone: boolean): Promise<void> {
    const forMs = this.#context.clock.monotonicMs() - sinceMs;
    await Promise.all(kinds.map((kind) => kind.fail({ error, forMs, isProjectGone: isGone })));
  }
}

type Calls = ReturnType<typeof callsOf>;

/** Returns the calls of one reconcile to the control plane. They wait for the request budget. */
function callsOf(
  { clock, unitOf }: ReconcileContext,
  { unit, round: { project }, kinds }: Work,
  access: ControlPlaneAccess,
) {
  const { projectId } = project;
  const calls = access.forCaller({
    urgency: kinds.some((kind) => kind.isUrgent()) ? "Urgent" : "Background",
    project: projectId,
  });
  const change: KindChange = {
    reserve: () => calls.reserve(),
    controlPlane: calls.controlPlane,
    isCurrent: () => unitOf(unit.id).access === access,
    noteSent: (sent) => noteSent(project, sent, clock.monotonicMs()),
  };
  return { controlPlane: calls.controlPlane, change, keyMark: calls.keyMark };
}

/** Chooses the first waiting change that is still wanted; `undefined`: there is none, or the project is locked. */
async function chooseChange(
  kinds: readonly KindRound[],
  { project, facts }: Round,
): Promise<{ readonly uid: string; readonly kind: KindRound } | undefined> {
  const isOpen = !isLocked(project, facts.monotonicMs);
  const wishes = kinds.flatMap((kind) => (isOpen ? kind.wishes().map((wish) => ({ ...wish, kind })) : []));
  for (const { uid, kind } of orderOfChanges(wishes, project.lastChange?.namespace).slice(0, triesLimit)) {
    if (await kind.isStillWanted(uid)) {
      return { uid, kind };
    }
  }
  return undefined;
}

function noteSent(project: ProjectMemory, sent: KindSent, nowMs: number): void {
  if (sent.kind === "Accepted") {
    project.lastChange = { namespace: sent.namespace, atMs: nowMs };
    noteStarted(project, sent.operations, nowMs);
  } else if (sent.error.reason === "Locked") {
    // The lock belongs to the project, so all its changes wait.
    project.lockedUntilMs = sent.retryAtMs;
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
function mayTryEarly({ reason }: ControlPlaneError, kinds: readonly KindRound[]): boolean {
  const isRefusal = reason === "Forbidden" || reason === "NotFound" || reason === "Malformed";
  return isRefusal && kinds.some((kind) => kind.mayEndRefusal());
}
