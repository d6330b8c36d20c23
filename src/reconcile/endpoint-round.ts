/** The kind ComputeEndpoint in one reconcile of a project. */
import { nextFailure, nextReportMs } from "../decide/call-failures.ts";
import type { FailureRow, Outcome, ResourceStep } from "../decide/observation.ts";
import type { Plan } from "../decide/plan.ts";
import { localPlanOf, situationOf } from "../decide/plan-resource.ts";
import { isMutation, rulesOf } from "../decide/plan-table.ts";
import { reasonOf } from "../domain/logger.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import { catchUp, decideLocally } from "./decide-locally.ts";
import { guarded, inParallel } from "./in-parallel.ts";
import { EndpointLook } from "./look.ts";
import type { FailedRead, KindChange, KindLook, KindRound, ReconcileContext } from "./ports.ts";
import { remember, type WaitingChange } from "./project-memory.ts";
import { inResourceSpan } from "./report.ts";
import { type Decided, isAskedFor, type Round, type WorkedResource } from "./round.ts";
import { heldBack, isDue, isWish, urgencyOf } from "./schedule.ts";
import { type Sent, sendChange } from "./send-change.ts";
import { storeStep } from "./store-step.ts";

/** The steps of one reconcile for the ComputeEndpoints of its project. @see KindRound */
export class EndpointRound implements KindRound {
  readonly #context: ReconcileContext;
  readonly #round: Round;
  #due: readonly WorkedResource[] = [];
  readonly #decided = new Map<string, Decided>();
  /** What `look` has read; `undefined`: `look` was not called yet. */
  #seen: EndpointLook | undefined;

  constructor(context: ReconcileContext, round: Round) {
    this.#context = context;
    this.#round = round;
  }

  /** This step comes first, so that an outage of the control plane never delays it. */
  async decideLocally(): Promise<void> {
    const { worked: all, facts } = this.#round;
    for (const worked of all) {
      // This includes resources that are not due, because a poll decides about them too.
      catchUp(this.#context, this.#round, worked);
    }
    const due = all.filter(({ resource, entry }) => isDue(resource, entry, facts.monotonicMs));
    await inParallel(due, (worked) => this.#guarded(worked, () => decideLocally(this.#context, this.#round, worked)));
  }

  chooseDue(isPoll: boolean): boolean {
    const { monotonicMs } = this.#round.facts;
    const lookable = this.#round.lookable();
    const isDueNow = ({ resource, entry }: WorkedResource) => isDue(resource, entry, monotonicMs);
    // A read for one resource may show what others wait for.
    const isExpecting = ({ resource, entry }: WorkedResource) =>
      isAtWork(resource) && entry.waitingSinceMs === undefined;
    this.#due = lookable.filter((worked) => isPoll || isDueNow(worked) || isExpecting(worked));
    return lookable.some(isDueNow);
  }

  isUrgent(): boolean {
    return this.isWaiting() || this.#due.some(({ resource }) => isAskedFor(resource) || isAtWork(resource));
  }

  mayEndRefusal(): boolean {
    return this.#due.some(({ resource }) => isAskedFor(resource));
  }

  isWaiting(): boolean {
    return this.#round.worked.some(({ entry }) => entry.waitingSinceMs !== undefined);
  }

  async look({ controlPlane, ...seen }: KindLook): Promise<void> {
    const look = new EndpointLook({ clock: this.#context.clock, controlPlane }, this.#round, seen);
    for (const decided of withoutDoubleAdoption(await look.decideDue(this.#due))) {
      this.#decided.set(decided.worked.resource.uid, decided);
      this.#noteWish(decided);
    }
    this.#seen = look;
  }

  wishes(): readonly WaitingChange[] {
    return this.#round.worked.flatMap(({ resource, entry: { waitingSinceMs: sinceMs } }) => {
      const { uid, key } = resource;
      return sinceMs === undefined ? [] : [{ uid, namespace: key.namespace, urgency: urgencyOf(resource), sinceMs }];
    });
  }

  async isStillWanted(uid: string): Promise<boolean> {
    const worked = this.#round.get(uid);
    if (worked === undefined || (!this.#decided.has(uid) && !(await this.#refresh(worked)))) {
      return false;
    }
    await this.#look.see([worked]);
    const decided = this.#look.decide(worked);
    this.#decided.set(uid, decided);
    this.#noteWish(decided);
    return isWish(decided) && this.#look.readErrorOf(worked) === undefined;
  }

  async change(uid: string, change: KindChange): Promise<void> {
    const decided = this.#decided.get(uid);
    if (decided !== undefined) {
      const { worked } = decided;
      const work = () => this.#change(decided, change);
      await this.#guarded(worked, () => inResourceSpan(this.#context, worked.resource, work));
    }
  }

  async store(changedUid: string | undefined): Promise<void> {
    const others = [...this.#decided.values()].filter(({ worked }) => worked.resource.uid !== changedUid);
    await inParallel(others, (each) => this.#guarded(each.worked, () => this.#store(each)));
  }

  async fail({ error, forMs, isProjectGone }: FailedRead): Promise<void> {
    const failed = { kind: "Failed", error, forMs, lockHolder: undefined } as const;
    await inParallel(this.#due, (worked) =>
      this.#guarded(worked, async () => {
        const local = this.#round.observe(worked);
        // A decision that needs no control plane stays valid although the read failed.
        const plan = localPlanOf(local);
        const isReleased = isProjectGone && plan === undefined && isBeingDeleted(worked.resource);
        const { createIntent: abandoned } = worked.resource.status;
        const step: ResourceStep = isReleased
          ? {
              local,
              observation: undefined,
              plan: { kind: "RemoveFinalizer", cause: "ProjectGone", abandoned },
              outcome: { kind: "NothingSent" },
            }
          : { local, observation: undefined, plan, outcome: failed };
        await storeStep(this.#context, this.#round, { worked, step });
        worked.entry.dueAtMs = this.#context.clock.monotonicMs() + nextReportMs(forMs);
      }),
    );
  }

  nextDueMs(): number {
    const entries = [...this.#round.project.resources.values()];
    return entries.reduce((first, { dueAtMs }) => Math.min(first, dueAtMs), Number.POSITIVE_INFINITY);
  }

  /** Does the work for one resource. If the work fails, this reconcile does nothing more for the resource. */
  #guarded(worked: WorkedResource, work: () => Promise<void>): Promise<void> {
    const { entry } = worked;
    const onFailure = (error: unknown) => {
      this.#context.tracer?.annotate({ "error.type": reasonOf(error) });
      this.#round.leaveOut(worked);
      entry.waitingSinceMs = undefined;
      // Before the backoff has passed, only a change of the resource makes it due.
      entry.version = worked.resource.resourceVersion;
    };
    return guarded(this.#context, worked, work, { firstMs: 5, onFailure });
  }

  get #look(): EndpointLook {
    if (this.#seen === undefined) {
      throw new Error("unreachable: `look` comes before this step");
    }
    return this.#seen;
  }

  /** Remembers since when a resource waits to send a change. A change that is held back does not wait. */
  #noteWish(decided: Decided): void {
    const { entry } = decided.worked;
    const sinceMs = entry.waitingSinceMs ?? this.#round.facts.monotonicMs;
    entry.waitingSinceMs = isWish(decided) ? sinceMs : undefined;
  }

  /**
   * Takes the newest version of a resource whose change was decided in an earlier reconcile. @returns `false` if the
   * resource is gone or replaced
   */
  async #refresh(worked: WorkedResource): Promise<boolean> {
    let isThere = false;
    await this.#guarded(worked, async () => {
      const current = await this.#context.store.current(worked.resource.key);
      isThere = current?.uid === worked.resource.uid;
      if (current !== undefined && isThere) {
        worked.resource = current;
      } else {
        worked.entry.dueAtMs = 0;
      }
    });
    return isThere;
  }

  /**
   * Sends the change, and stores the result. If the change became out of date before, the resource is decided again.
   */
  async #change({ worked, observation, plan }: Decided, change: KindChange): Promise<void> {
    const round = this.#round;
    const { entry } = worked;
    const local = round.observe(worked);
    if (!isMutation(plan)) {
      return;
    }
    await change.reserve();
    const step = { local, observation, plan, outcome: { kind: "NothingSent" } } as const;
    const mayStillSend = () => change.isCurrent() && situationOf(round.observe(worked)).kind !== "NotGranted";
    const { project } = round;
    const { controlPlane } = change;
    const sent = await sendChange(this.#context, { step, entry, project, controlPlane, mayStillSend });
    entry.waitingSinceMs = undefined;
    if (sent.kind === "Outdated") {
      entry.dueAtMs = 0;
      return;
    }
    worked.resource = sent.resource;
    const outcome = this.#outcomeOf(worked, { plan, sent, change });
    // Sending has changed the memory and the resource, so the resource is observed again.
    const result = { local: round.observe(worked), observation, plan, outcome };
    // The answer has named operations that the reads before did not show.
    await storeStep(this.#context, round, { worked, step: result, operations: round.project.operations.snapshot() });
  }

  #outcomeOf(
    { entry, resource }: WorkedResource,
    { plan, sent, change }: { plan: Plan; sent: Exclude<Sent, { kind: "Outdated" }>; change: KindChange },
  ): Outcome {
    if (sent.kind === "Accepted") {
      const { answer } = sent;
      const { namespace } = resource.key;
      change.noteSent({ kind: "Accepted", namespace, operations: answer?.operations ?? [] });
      return { kind: "Accepted", answer };
    }
    const { error } = sent;
    const nowMs = this.#context.clock.monotonicMs();
    const needsPerson = rulesOf(plan).conflictStall !== undefined;
    const latest = { error, generation: resource.generation, nowMs, needsPerson };
    const failure = nextFailure(entry.memory.failure, latest, this.#context);
    remember(entry, { failure });
    change.noteSent({ kind: "Failed", error, retryAtMs: failure.retryAtMs });
    return this.#failed(failure, nowMs);
  }

  #failed({ error, sinceMs }: Pick<FailureRow, "error" | "sinceMs">, nowMs: number): Outcome {
    const [id] = this.#round.project.lockHolders.keys();
    const lockHolder = id === undefined ? undefined : this.#look.operations.byId.get(id);
    return { kind: "Failed", error, forMs: nowMs - sinceMs, lockHolder };
  }

  async #store({ worked, observation, plan }: Decided): Promise<void> {
    const { operations } = this.#look;
    const local = this.#round.observe(worked);
    const failure = this.#noteRead(worked);
    const step: ResourceStep =
      failure === undefined
        ? { local, observation, plan, outcome: this.#restingOutcome({ worked, observation, plan }) }
        : { local, observation: undefined, plan: localPlanOf(local), outcome: failure };
    await storeStep(this.#context, this.#round, { worked, step, operations });
  }

  /** Notes a failed read by id of the endpoint. @returns the failure; `undefined`: no read failed */
  #noteRead(worked: WorkedResource): Outcome | undefined {
    const { entry, resource } = worked;
    const error = this.#look.readErrorOf(worked);
    if (error === undefined) {
      return undefined;
    }
    const latest = { error, generation: resource.generation, nowMs: this.#context.clock.monotonicMs() };
    const failure = nextFailure(entry.memory.failure, latest, this.#context);
    remember(entry, { failure });
    return this.#failed(failure, latest.nowMs);
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
    const sinceMs = decided.worked.entry.waitingSinceMs ?? facts.monotonicMs;
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

function isAtWork(resource: WorkedResource["resource"]): boolean {
  const { conditions } = resource.status;
  return isBeingDeleted(resource) || (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"));
}
