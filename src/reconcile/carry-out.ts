/** The steps "choose" and "act" of a reconcile: chooses the change to send to the control plane, and sends it. */

import { nextFailure } from "../decide/call-failures.ts";
import type { FailureRow, Outcome, ResourceStep } from "../decide/observation.ts";
import type { Mutation } from "../decide/plan.ts";
import { situationOf } from "../decide/plan-resource.ts";
import { entryOf, isMutation } from "../decide/plan-table.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { deleteAbandoned } from "./gone-resources.ts";
import { inParallel } from "./in-parallel.ts";
import type { Decided, ProjectLook } from "./look.ts";
import { noteStarted } from "./observe-project.ts";
import type { KindRound, ProjectCalls, ReconcileContext } from "./ports.ts";
import { type ChangeUrgency, remember, type WaitingChange } from "./project-memory.ts";
import { inResourceSpan } from "./report.ts";
import { isAskedFor, type Round, type WorkedResource } from "./round.ts";
import { isLocked, orderOfChanges } from "./schedule.ts";
import { type Sent, sendChange } from "./send-change.ts";
import { guardedStep, settleStep, storesAtOnce } from "./settle-step.ts";

/** A change that waited for the request budget for more than this many milliseconds is decided again. */
const budgetWaitLimitMs = 5_000;

/** The maximum number of waiting changes that one reconcile decides again until it finds one that is still wanted. */
const triesLimit = 50;

/** The result of choosing: at most one change to send, and the decisions that send nothing. */
interface Choice {
  readonly send: () => Promise<void>;
  /** The uid of the resource of a further kind whose change is sent; `undefined`: none. */
  readonly furtherUid: string | undefined;
  readonly others: readonly Decided[];
}

/** Sends the change that one reconcile chooses for its project, and stores the results of all its decisions. */
export class CarryOut {
  readonly #context: ReconcileContext;
  readonly #calls: ProjectCalls;
  readonly #round: Round;
  readonly #look: ProjectLook;

  constructor(context: ReconcileContext, calls: ProjectCalls, round: Round, look: ProjectLook) {
    this.#context = context;
    this.#calls = calls;
    this.#round = round;
    this.#look = look;
  }

  /** Sends at most one change to the control plane, and meanwhile stores the status of the other resources. */
  async run(decided: readonly Decided[]): Promise<void> {
    const { kinds, project, facts } = this.#round;
    const { snapshot, operations } = this.#look;
    const ready = withoutDoubleAdoption(decided);
    for (const each of ready) {
      this.#noteWish(each);
    }
    const mayChange = !isLocked(project, facts.monotonicMs);
    const seen = { objects: this.#calls.controlPlane, snapshot, operations, mayChange };
    await Promise.all(kinds.map((kind) => kind.look(seen)));
    const { send, furtherUid, others } = await this.#choose(ready, mayChange);
    await Promise.all([
      // Storing the statuses begins before sending the change, because sending gives the worker back at once.
      this.#calls.whileWorking(async () => {
        const settled = inParallel(others, storesAtOnce, (each) => this.#settle(each));
        await Promise.all([settled, ...kinds.map((kind) => kind.settle(furtherUid))]);
      }),
      send(),
    ]);
  }

  /** Chooses the first waiting change that is still wanted. If there is none, an abandoned endpoint may be deleted. */
  async #choose(decided: readonly Decided[], mayChange: boolean): Promise<Choice> {
    const { project, kinds } = this.#round;
    const byUid = new Map(decided.map((each) => [each.worked.resource.uid, each]));
    const further = kinds.flatMap((kind) => kind.wishes().map((wish) => ({ ...wish, kind })));
    const wishes = mayChange ? [...this.#wishes(), ...further] : [];
    for (const uid of orderOfChanges(wishes, project.lastChange?.namespace).slice(0, triesLimit)) {
      const kind = further.find((wish) => wish.uid === uid)?.kind;
      if (kind !== undefined) {
        return { send: () => this.#changeFurther(kind, uid), furtherUid: uid, others: [...byUid.values()] };
      }
      const worked = this.#round.get(uid);
      const each = byUid.get(uid) ?? (worked && (await this.#decideAgain(worked)));
      if (each === undefined) {
        continue;
      }
      byUid.set(uid, each);
      const { plan } = each;
      if (isMutation(plan) && heldBack(each) === undefined && this.#look.allows(each)) {
        byUid.delete(uid);
        return { send: () => this.#change(each, plan), furtherUid: undefined, others: [...byUid.values()] };
      }
    }
    const send = () => deleteAbandoned(this.#context, this.#calls.controlPlane, this.#round);
    return { send, furtherUid: undefined, others: [...byUid.values()] };
  }

  #wishes(): readonly WaitingChange[] {
    return this.#round.worked.flatMap(({ resource: { uid, key }, entry: { waiting } }) =>
      waiting === undefined ? [] : [{ uid, namespace: key.namespace, ...waiting }],
    );
  }

  /**
   * Remembers since when a resource waits to send a change. If it has no change to send now, or its change is held
   * back, it does not wait any longer.
   */
  #noteWish(decided: Decided): void {
    const { entry, resource } = decided.worked;
    const isWish = isMutation(decided.plan) && heldBack(decided) === undefined;
    const sinceMs = entry.waiting?.sinceMs ?? this.#round.facts.monotonicMs;
    entry.waiting = isWish ? { sinceMs, urgency: urgencyOf(resource) } : undefined;
  }

  /**
   * Decides a waiting resource again, because its decision comes from an earlier reconcile and an older snapshot.
   * @returns `undefined` if a read fails, or the resource is gone or replaced; the next waiting resource is then tried
   */
  async #decideAgain(worked: WorkedResource): Promise<Decided | undefined> {
    let decided: Decided | undefined;
    await guardedStep(this.#context, this.#round, worked, async () => {
      const current = await this.#context.store.current(worked.resource.key);
      if (current?.uid !== worked.resource.uid) {
        worked.entry.dueAtMs = 0;
        return;
      }
      worked.resource = current;
      if (!this.#look.allows(this.#look.decide(worked))) {
        await this.#look.see([worked]);
      }
      const each = this.#look.decide(worked);
      this.#noteWish(each);
      decided = each;
    });
    return decided;
  }

  async #changeFurther(kind: KindRound, uid: string): Promise<void> {
    const { project } = this.#round;
    const { isCurrent, reserved: objects } = this.#calls;
    const sent = await kind.change(uid, { reserve: () => this.#reserveInTime(), isCurrent, objects });
    const nowMs = this.#context.clock.monotonicMs();
    if (sent.kind === "Accepted") {
      project.lastChange = { namespace: sent.namespace, atMs: nowMs };
      noteStarted(project, sent.operations, nowMs);
    } else if (sent.kind === "Failed" && sent.error.reason === "Locked") {
      project.lockedUntilMs = sent.retryAtMs;
    }
  }

  /**
   * Sends the change, and stores the result. If the change became out of date before, the resource is decided again.
   */
  #change({ worked, observation }: Decided, plan: Mutation): Promise<void> {
    const context = this.#context;
    const round = this.#round;
    const { entry } = worked;
    const work = async () => {
      const local = round.observe(worked);
      if (!(await this.#reserveInTime())) {
        // The project may have changed during the long wait, so the next reconcile observes it again.
        entry.dueAtMs = 0;
        return;
      }
      const step = { local, observation, plan, outcome: { kind: "NothingSent" } } as const;
      const mayStillSend = () => this.#calls.isCurrent() && situationOf(round.observe(worked)).kind !== "NotGranted";
      const { project } = round;
      const sent = await sendChange(context, {
        step,
        entry,
        project,
        controlPlane: this.#calls.reserved,
        mayStillSend,
      });
      entry.waiting = undefined;
      if (sent.kind === "Outdated") {
        entry.dueAtMs = 0;
        return;
      }
      worked.resource = sent.resource;
      const { operations } = this.#look;
      const outcome = this.#outcomeOf(worked, plan, sent);
      // Sending has changed the memory and the resource, so the resource is observed again.
      const result = { local: round.observe(worked), observation, plan, outcome };
      await settleStep(context, round, { worked, step: result, operations });
    };
    return guardedStep(context, round, worked, () => inResourceSpan(context, worked.resource, work));
  }

  /**
   * Waits for the request budget. @returns false if the wait was so long that the change must be decided again.
   * @throws ControlPlaneError
   */
  async #reserveInTime(): Promise<boolean> {
    const { clock } = this.#context;
    const askedMs = clock.monotonicMs();
    await this.#calls.reserve();
    return clock.monotonicMs() - askedMs <= budgetWaitLimitMs;
  }

  #outcomeOf({ entry, resource }: WorkedResource, plan: Mutation, sent: Exclude<Sent, { kind: "Outdated" }>): Outcome {
    const { project } = this.#round;
    const nowMs = this.#context.clock.monotonicMs();
    if (sent.kind === "Accepted") {
      project.lastChange = { namespace: resource.key.namespace, atMs: nowMs };
      return { kind: "Accepted", answer: sent.answer };
    }
    const { error } = sent;
    const needsPerson = entryOf(plan).conflictStall !== undefined;
    const latest = { error, generation: resource.generation, nowMs, needsPerson };
    const failure = nextFailure(entry.memory.failure, latest, this.#context);
    remember(entry, { failure });
    if (error.reason === "Locked") {
      // The lock belongs to the project, so all its changes wait.
      project.lockedUntilMs = failure.retryAtMs;
    }
    return this.#failed(failure, nowMs);
  }

  #failed({ error, sinceMs }: Pick<FailureRow, "error" | "sinceMs">, nowMs: number): Outcome {
    const [id] = this.#round.project.lockHolders.keys();
    const lockHolder = id === undefined ? undefined : this.#look.operations.byId.get(id);
    return { kind: "Failed", error, forMs: nowMs - sinceMs, lockHolder };
  }

  /** Stores the result of a decision that sends nothing. If its endpoint could not be read by id, status reports that. */
  #settle({ worked, observation, plan }: Decided): Promise<void> {
    return guardedStep(this.#context, this.#round, worked, async () => {
      const { operations } = this.#look;
      const local = this.#round.observe(worked);
      const failure = this.#noteRead(worked);
      const step: ResourceStep =
        failure === undefined
          ? { local, observation, plan, outcome: this.#restingOutcome({ worked, observation, plan }) }
          : { local, observation: undefined, plan: undefined, outcome: failure };
      await settleStep(this.#context, this.#round, { worked, step, operations });
    });
  }

  /** Notes whether the read by id of the endpoint failed, and since when. @returns the failure, if it did */
  #noteRead(worked: WorkedResource): Outcome | undefined {
    const { monotonicMs: nowMs } = this.#round.facts;
    const error = this.#look.readErrorOf(worked);
    const before = worked.entry.readFailure;
    const sinceMs = before !== undefined && before.reason === error?.reason ? before.sinceMs : nowMs;
    worked.entry.readFailure = error && { reason: error.reason, sinceMs };
    return error && { kind: "Failed", error, forMs: nowMs - sinceMs, lockHolder: undefined };
  }

  #restingOutcome(decided: Decided): Outcome {
    const { facts, project } = this.#round;
    if (!isMutation(decided.plan)) {
      return { kind: "NothingSent" };
    }
    const failure = heldBack(decided);
    if (failure !== undefined) {
      return this.#failed(failure, facts.monotonicMs);
    }
    const sinceMs = decided.worked.entry.waiting?.sinceMs ?? facts.monotonicMs;
    const lastChangeMs = project.lastChange?.atMs ?? Number.NEGATIVE_INFINITY;
    const stillMs = facts.monotonicMs - Math.max(sinceMs, lastChangeMs);
    return { kind: "Deferred", waitedMs: facts.monotonicMs - sinceMs, stillMs };
  }
}

/**
 * Removes a decision that would record the same endpoint as an earlier decision of this reconcile. The resource of the
 * removed decision is decided again.
 */
function withoutDoubleAdoption(decided: readonly Decided[]): readonly Decided[] {
  const recorded = new Set<string>();
  return decided.filter(({ plan, worked }) => {
    const endpointId = "ownership" in plan ? plan.ownership.endpointId : undefined;
    if (endpointId === undefined || !recorded.has(endpointId)) {
      recorded.add(endpointId ?? "");
      return true;
    }
    worked.entry.dueAtMs = 0;
    return false;
  });
}

function urgencyOf(resource: WorkedResource["resource"]): ChangeUrgency {
  if (isBeingDeleted(resource)) {
    return "Deletion";
  }
  return resource.status.createIntent === undefined ? "Other" : "OpenCreate";
}

/**
 * Returns the failure that holds a change back; `undefined`: the change may be sent. A failed change waits for its
 * retry time. It does not wait if a person asks for a reconcile or spec has changed. Nor does it wait if the snapshot
 * shows that the cause of a 409 is gone.
 */
function heldBack({ worked, observation, plan }: Decided): FailureRow | undefined {
  const { failure } = worked.entry.memory;
  if (failure === undefined || isAskedFor(worked.resource)) {
    return undefined;
  }
  const isObstacleGone = failure.error.reason === "Conflict" && entryOf(plan).isObstacleGone(plan, observation.project);
  const isHeld = failure.generation === worked.resource.generation && observation.monotonicMs < failure.retryAtMs;
  return isHeld && !isObstacleGone ? failure : undefined;
}
