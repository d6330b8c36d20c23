/** One resource in one reconcile: decide, observe, decide; then one change, or one result to store. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { countStored } from "../operations/counting.ts";
import type { HistoryRange } from "../operations/reader.ts";
import { isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import type { EngineContext } from "./context.ts";
import { nextFailure, nextReportMs } from "./failures.ts";
import { guarded } from "./guarded.ts";
import type { Kind, KindInProject } from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import type { ResourceMemory } from "./memory.ts";
import { commonPlan } from "./plan.ts";
import type { ProjectReads } from "./project-reads.ts";
import { inResourceSpan, resourceFields } from "./report.ts";
import type { WaitingChange } from "./schedule.ts";
import { sendChange } from "./send-change.ts";
import { planStanding } from "./standing.ts";
import type { Facts, Outcome, PlanOf, ProjectFacts, Reads, Step } from "./step.ts";
import { release, type StoreTarget, storeStep } from "./store-step.ts";
import { waitReportMs } from "./summary.ts";

/** How often one reconcile decides about one resource, because each decision asked for another read. */
const decisionsLimit = 24;

export interface FailedRead {
  readonly error: ControlPlaneError;
  /** Milliseconds since the first of these equal failures. */
  readonly forMs: number;
  /** Whether the project was deleted: for a minute it answers 404 to the key that has listed it before. */
  readonly isProjectGone: boolean;
}

/** What a reconcile sends its one change with. */
export interface ChangeCalls {
  readonly reserve: () => Promise<void>;
  readonly controlPlane: ControlPlane;
  readonly isCurrent: () => boolean;
  /** Updates the project memory. Not called if nothing was sent. */
  readonly noteSent: (sent: SentNote) => void;
}

export type SentNote =
  | { readonly kind: "Accepted"; readonly namespace: string; readonly answer: KindTypes["answer"] }
  | { readonly kind: "Failed"; readonly error: ControlPlaneError; readonly retryAtMs: number };

export class ResourceReconcile<T extends KindTypes> {
  readonly #context: EngineContext;
  readonly #kind: Kind<T>;
  #scope: KindInProject<T>;
  readonly #project: ProjectFacts;
  readonly #memory: ResourceMemory<T>;
  readonly isDue: boolean;
  readonly #isChanged: boolean;
  #resource: T["resource"];
  #reads: Reads<T> = {};
  #plan: PlanOf<T>;
  #readError: ControlPlaneError | undefined;
  /** Whether this reconcile does nothing more for the resource: it is released, stored or gone, or the work failed. */
  #isDone = false;

  constructor(of: StoreTarget<T> & { readonly project: ProjectFacts; readonly resource: T["resource"] }) {
    this.#context = of.context;
    this.#kind = of.kind;
    this.#scope = of.scope;
    this.#memory = of.memory;
    this.#project = of.project;
    this.#resource = of.resource;
    this.#catchUp();
    this.#isChanged = of.memory.mark !== this.#mark();
    this.isDue = this.#isChanged || of.memory.dueAtMs <= of.project.monotonicMs;
    this.#plan = this.#decideUnread();
  }

  isOf(kind: Kind<KindTypes>): boolean {
    return this.#kind === (kind as unknown);
  }

  get uid(): string {
    return this.#resource.uid;
  }

  get plan(): PlanOf<T> {
    return this.#plan;
  }

  /** Why a read that the decision needs failed; `undefined`: none failed. */
  get readError(): ControlPlaneError | undefined {
    return this.#readError;
  }

  get #isWaiting(): boolean {
    return this.#memory.waitingSinceMs !== undefined;
  }

  /** Whether the decision needs the control plane, or its operations are worth a read that happens anyway. */
  wantsRead(): "Needed" | "Useful" | "No" {
    // Without the finalizer nothing is decided from reads: nothing may be created outside the cluster before it is stored.
    if (this.#isDone || (!isBeingDeleted(this.#resource) && !this.#hasFinalizer())) {
      return "No";
    }
    if (this.#plan.kind !== "Look" && !this.#scope.isShown(this.#resource)) {
      return "No";
    }
    return this.isDue || this.#isWaiting ? "Needed" : "Useful";
  }

  /** Whether any read of the project may help it on: it is due, at work, or waits. */
  isExpecting(): boolean {
    return this.isDue || this.#isWaiting || this.#isAtWork();
  }

  /** Whether a person waits for it. After a restart all resources are due, and none of them is urgent for that. */
  isUrgent(): boolean {
    const isEdited = this.#isChanged && this.#memory.mark !== undefined;
    return this.isAskedFor() || this.#isWaiting || this.#isAtWork() || isEdited;
  }

  #isAtWork(): boolean {
    const { conditions } = this.#resource.status;
    return isBeingDeleted(this.#resource) || (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"));
  }

  /** Whether a person asked for a reconcile, or changed spec, since the status was last stored. */
  isAskedFor(): boolean {
    const { annotations: given, generation, status } = this.#resource;
    const requested = given[annotations.reconcileRequestedAt] ?? "";
    return generation !== status.observedGeneration || requested !== (status.lastHandledReconcileAt ?? "");
  }

  get historyRange(): HistoryRange | undefined {
    return this.#scope.isShown(this.#resource) ? this.#scope.historyRange(this.#resource) : undefined;
  }

  /** Takes the newest version, and carries out what needs no control plane. An outage never delays it. */
  async decideLocally(): Promise<void> {
    if (!this.isDue) {
      return;
    }
    await this.#guarded(async () => {
      const current = await this.#kind.store.current(this.#resource.key);
      if (current?.uid !== this.#resource.uid) {
        this.#isDone = true;
        this.#memory.dueAtMs = this.#context.clock.monotonicMs() + goneAgainMs;
        return;
      }
      this.#resource = current;
      this.#catchUp();
      this.#plan = this.#decideUnread();
      await this.#addFinalizer();
      await this.#observe(undefined);
      if (this.wantsRead() === "No") {
        await this.#conclude();
      }
    });
  }

  /** Without reads, no plan is a change. So a resource with another plan than a look waits for nothing any more. */
  #decideUnread(): PlanOf<T> {
    const plan = this.#decide();
    if (plan.kind !== "Look") this.#memory.waitingSinceMs = undefined;
    return plan;
  }

  /** Nothing is created outside the cluster before the finalizer is stored. */
  async #addFinalizer(): Promise<void> {
    const isWanted = this.#plan.kind === "Look" && !isBeingDeleted(this.#resource);
    if (isWanted && !this.#hasFinalizer()) {
      this.#resource = await this.#kind.store.addFinalizer(this.#resource);
      this.#context.logger.info(resourceFields(this.#resource), "finalizer added");
      this.#plan = this.#decide();
    }
  }

  #hasFinalizer(): boolean {
    return this.#resource.finalizers.includes(this.#kind.finalizer);
  }

  /** Decides with the reads of the project, and makes those that the decision asks for. */
  async look(project: ProjectReads, from: ControlPlane): Promise<void> {
    await this.#guarded(async () => {
      this.#reads = { project };
      this.#plan = this.#decide();
      try {
        await this.#observe(from);
      } catch (error) {
        if (!(error instanceof ControlPlaneError)) throw error;
        this.#readError = error;
      }
      this.#noteWaiting();
    });
  }

  async #observe(from: ControlPlane | undefined): Promise<void> {
    for (let times = 0; times < decisionsLimit; times += 1) {
      const plan = commonPlan(this.#plan);
      if (plan?.kind !== "Look" || plan.at !== "Own") {
        return;
      }
      const { project } = this.#reads;
      if (plan.endpointId !== undefined && project !== undefined) {
        const isRead = await project.readById(plan.endpointId);
        this.#readError = project.errorOf(plan.endpointId);
        if (!isRead) return;
      } else {
        const own = await this.#scope.observe(this.#facts(), this.#reads, from);
        this.#reads = { ...this.#reads, own };
      }
      this.#plan = this.#decide();
    }
  }

  /** A change that is held back does not wait. A resource that is due waits also for the list of a locked project. */
  #noteWaiting(): void {
    const isWish = this.#isChange() && this.#heldBack() === undefined;
    const isUndecided = this.#plan.kind === "Look" && this.#readError === undefined;
    const isWaiting = this.#readError === undefined && (isWish || (isUndecided && this.isExpecting()));
    const sinceMs = this.#memory.waitingSinceMs ?? this.#project.monotonicMs;
    this.#memory.waitingSinceMs = isWaiting ? sinceMs : undefined;
  }

  #isChange(): boolean {
    return this.#shape() === "Change";
  }

  #shape(): "Change" | "Apply" | "Rest" | "Look" | "Idle" | "Release" {
    switch (this.#plan.kind) {
      case "Look":
      case "Idle":
        return this.#plan.kind;
      case "RemoveFinalizer":
        return "Release";
      case "Wait":
      case "Stall":
        return "Rest";
      default:
        return this.#scope.shapeOf(this.#plan);
    }
  }

  /** The change that the resource waits to send. */
  wish(): WaitingChange | undefined {
    const { waitingSinceMs: sinceMs } = this.#memory;
    if (this.#isDone || sinceMs === undefined || !this.#isChange()) {
      return undefined;
    }
    const { uid, key } = this.#resource;
    return { uid, namespace: key.namespace, urgency: this.#scope.urgencyOf(this.#resource), sinceMs };
  }

  /** Sends the change. Claims and grants may have changed since the decision, so they are looked up again. */
  async send(calls: ChangeCalls): Promise<void> {
    this.#scope = this.#kind.begin(this.#project);
    await this.#guarded(() => inResourceSpan(this.#context, this.#resource, () => this.#send(calls)));
  }

  async #send({ reserve, controlPlane, isCurrent, noteSent }: ChangeCalls): Promise<void> {
    await reserve();
    const memory = this.#memory;
    const step = { ...this.#step({ kind: "NothingSent" }), plan: this.#plan };
    const sent = await sendChange({
      ...{ clock: this.#context.clock, events: this.#context.events, kind: this.#kind, scope: this.#scope },
      ...{ memory, step, controlPlane, isCurrent, decideFor: (resource) => this.#decide(resource) },
    });
    memory.waitingSinceMs = undefined;
    if (sent.kind === "Outdated") {
      memory.dueAtMs = 0;
      return;
    }
    if (sent.kind === "Refused") {
      await this.#store({ kind: "Applied", applied: sent.applied });
      return;
    }
    this.#resource = sent.resource;
    if (sent.kind === "Failed") {
      const { retryAtMs } = this.#noteFailure(sent.error);
      noteSent({ kind: "Failed", error: sent.error, retryAtMs });
      await this.#store(this.#failed());
      return;
    }
    const { answer } = sent;
    noteSent({ kind: "Accepted", namespace: this.#resource.key.namespace, answer });
    this.#reads.project?.noteAnswer();
    const accepted = { kind: "Accepted", answer } as const;
    memory.hint = this.#scope.hintAfter(this.#step(accepted));
    await this.#store({ ...accepted, applied: await this.#scope.apply(this.#step(accepted)) });
  }

  /** Stores the result, if it was not stored yet. */
  async store(): Promise<void> {
    if (!this.#isDone) {
      await this.#guarded(() => this.#conclude());
    }
  }

  async #conclude(): Promise<void> {
    const outcome = await this.#restingOutcome();
    if (this.#shape() === "Release" && outcome.kind === "NothingSent") {
      await release(this.#target(), this.#step(outcome));
      this.#isDone = true;
      this.#context.unitOf(this.#project.planeId).projects.of(this.#project.projectId).resources.delete(this.uid);
      return;
    }
    if (this.#shape() === "Idle" && outcome.kind === "NothingSent" && this.#reads.project === undefined) {
      this.#rest(this.#step(outcome));
      return;
    }
    // A wait is stored when it is time to report it.
    if (outcome.kind === "Deferred" && !this.isDue) {
      return;
    }
    await this.#store(outcome);
  }

  async #restingOutcome(): Promise<Outcome<T>> {
    if (this.#readError !== undefined) {
      this.#noteFailure(this.#readError);
      return this.#failed();
    }
    switch (this.#shape()) {
      case "Apply": {
        const applied = await this.#scope.apply(this.#step({ kind: "NothingSent" }));
        return applied === undefined ? { kind: "NothingSent" } : { kind: "Applied", applied };
      }
      case "Change":
        return this.#heldBack() === undefined ? this.#deferred() : this.#failed();
      case "Look":
        return this.#isWaiting ? this.#deferred() : { kind: "NothingSent" };
      default:
        return { kind: "NothingSent" };
    }
  }

  #deferred(): Outcome<T> {
    const { monotonicMs, lastChangeMs = 0 } = this.#project;
    const sinceMs = this.#memory.waitingSinceMs ?? monotonicMs;
    // In a burst, a new resource reports its wait only if the changes of the project stop. That saves a write for each.
    const isNew = this.#resource.status.conditions === undefined;
    return { kind: "Deferred", waitedMs: monotonicMs - (isNew ? Math.max(sinceMs, lastChangeMs) : sinceMs) };
  }

  /** Reports that the project cannot be read. A decision that needs no control plane stays valid. */
  async fail({ error, forMs, isProjectGone }: FailedRead): Promise<void> {
    if (this.#isDone) {
      return;
    }
    await this.#guarded(async () => {
      const isGone = isProjectGone && this.#plan.kind === "Look" && isBeingDeleted(this.#resource);
      if (isGone) {
        this.#plan = this.#scope.planProjectGone(this.#resource);
      }
      if (isGone || this.#shape() === "Release") {
        await this.#conclude();
        return;
      }
      await this.#store({ kind: "Failed", error, forMs, lockHolder: undefined });
      this.#memory.dueAtMs = this.#context.clock.monotonicMs() + nextReportMs(forMs);
    });
  }

  async #store(outcome: Outcome<T>): Promise<void> {
    const step = this.#step(outcome);
    const stored = await storeStep(this.#target(), step);
    this.#isDone = true;
    if (stored === undefined) {
      // The resource is gone or replaced. The watch reports that soon.
      this.#memory.dueAtMs = 0;
      return;
    }
    this.#resource = stored.resource;
    this.#memory.writeFailures = 0;
    const isRest = outcome.kind === "NothingSent" && this.#shape() === "Rest";
    if (isRest || outcome.kind === "Accepted" || outcome.kind === "Applied") {
      this.#memory.failure = undefined;
    }
    this.#catchUp();
    this.#rest(step);
  }

  /** Notes what was decided from, and when the resource is due again. */
  #rest(step: Step<T>): void {
    this.#memory.mark = this.#mark();
    if (step.outcome.kind === "NothingSent" || step.outcome.kind === "Applied") {
      this.#memory.hint = this.#scope.hintAfter(step);
    }
    this.#memory.dueAtMs = this.#dueAtMs(step);
  }

  #dueAtMs(step: Step<T>): number {
    const nowMs = this.#context.clock.monotonicMs();
    const { outcome } = step;
    if (outcome.kind === "Failed") {
      return Math.min(this.#memory.failure?.retryAtMs ?? Infinity, nowMs + nextReportMs(outcome.forMs));
    }
    if (outcome.kind === "Deferred") {
      const leftMs = waitReportMs(this.#resource) - outcome.waitedMs;
      return leftMs > 0 ? nowMs + leftMs : Infinity;
    }
    const plan = commonPlan(step.plan);
    if (plan?.kind === "Idle" && plan.dueInMs === undefined) {
      return this.isDue ? Infinity : this.#memory.dueAtMs;
    }
    const delayMs = this.#scope.dueInMs(step);
    return delayMs === undefined ? Infinity : nowMs + delayMs;
  }

  #step(outcome: Outcome<T>): Step<T> {
    const isUnread = outcome.kind === "Failed" && !this.#isChange();
    const plan = isUnread && this.#plan.kind === "Look" ? undefined : this.#plan;
    return { facts: this.#facts(), reads: this.#reads, plan, outcome };
  }

  #noteFailure(error: ControlPlaneError) {
    const { generation } = this.#resource;
    const nowMs = this.#context.clock.monotonicMs();
    const failure = nextFailure(this.#memory.failure, { error, generation, nowMs }, this.#context);
    this.#memory.failure = failure;
    return failure;
  }

  #failed(): Outcome<T> {
    const { failure } = this.#memory;
    if (failure === undefined) {
      return { kind: "NothingSent" };
    }
    const forMs = this.#context.clock.monotonicMs() - failure.sinceMs;
    return { kind: "Failed", error: failure.error, forMs, lockHolder: this.#reads.project?.lockHolder };
  }

  /** Returns the failure that holds a change back. A person's edit or request ends the wait. */
  #heldBack() {
    const { failure } = this.#memory;
    const isHeld =
      failure !== undefined &&
      failure.generation === this.#resource.generation &&
      this.#project.monotonicMs < failure.retryAtMs &&
      !this.isAskedFor();
    return isHeld ? failure : undefined;
  }

  #decide(resource = this.#resource): PlanOf<T> {
    const facts = { ...this.#facts(), resource };
    const standing = { kind: this.#scope, finalizer: this.#kind.finalizer, project: this.#project };
    return planStanding(standing, facts) ?? this.#scope.decide(facts, this.#reads);
  }

  #facts(): Facts<T> {
    const { nowMs, monotonicMs, identity, policy, grantOf, projectId } = this.#project;
    const grant = grantOf(this.#resource.key.namespace, projectId);
    const { isDue } = this;
    const own = { resource: this.#resource, memory: this.#memory, grant, isDue, isChanged: this.#isChanged };
    return { nowMs, monotonicMs, identity, policy, ...own };
  }

  #target(): StoreTarget<T> {
    return { context: this.#context, kind: this.#kind, scope: this.#scope, memory: this.#memory };
  }

  #mark(): string {
    const { resourceVersion, key } = this.#resource;
    const { grantOf, projectId, problem } = this.#project;
    const { mayChange, mayAdopt } = grantOf(key.namespace, projectId);
    return [resourceVersion, mayChange, mayAdopt, problem?.message, this.#scope.markOf(this.#resource)].join(" ");
  }

  /** Counts what the stored status holds, and takes up what it says about creates. */
  #catchUp(): void {
    const memory = this.#memory;
    countStored(this.#context, memory.pending, this.#resource);
    const attempt = this.#scope.openAttempt(this.#resource);
    if (attempt !== undefined && attempt !== memory.posts?.attempt) {
      // An earlier process may have sent a request under this note.
      const { monotonicMs: sinceMs } = this.#project;
      memory.posts = { attempt, isUnresolved: true, sinceMs, answer: undefined };
    }
    if (memory.posts?.answer !== undefined && this.#scope.hasResult(this.#resource, memory.posts.attempt)) {
      memory.posts = undefined;
    }
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    const on = () => ({
      ...{ context: this.#context, kind: this.#kind, memory: this.#memory, resource: this.#resource },
    });
    if (!(await guarded(on, work))) {
      this.#isDone = true;
      // Before the backoff has passed, only a change of the resource makes it due.
      this.#memory.mark = this.#mark();
    }
  }
}

/** Until the watch reports that a resource is gone, the operator checks again at this interval, in milliseconds. */
const goneAgainMs = 1_000;
