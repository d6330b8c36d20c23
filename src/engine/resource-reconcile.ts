/** One resource in one reconcile: decide, observe, decide; then one change, or one result to store. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { countStored } from "../operations/counting.ts";
import type { HistoryRange } from "../operations/reader.ts";
import { isTrue } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import type { EngineContext } from "./context.ts";
import { Decision } from "./decision.ts";
import { nextFailure, nextReportMs } from "./failures.ts";
import { guarded } from "./guarded.ts";
import {
  type CommonPlan,
  commonPlan,
  type Kind,
  type Outcome,
  type PlanOf,
  type ProjectFacts,
  type Step,
} from "./kind.ts";
import type { KindTypes } from "./kind-types.ts";
import type { FailureRow, ProjectMemory, ResourceMemory } from "./memory.ts";
import { noteStarted, type ProjectReads } from "./project-reads.ts";
import { inResourceSpan, resourceFields } from "./report.ts";
import type { Urgency, WaitingChange } from "./schedule.ts";
import { sendChange } from "./send-change.ts";
import { release, type StoreTarget, storeStep } from "./store-step.ts";
import { waitReportMs } from "./summary.ts";

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
}

export interface ReconcileOf<T extends KindTypes> extends StoreTarget<T> {
  readonly project: ProjectFacts;
  readonly inProject: ProjectMemory;
  readonly resource: T["resource"];
}

export class ResourceReconcile<T extends KindTypes> {
  readonly #context: EngineContext;
  readonly #kind: Kind<T>;
  readonly #project: ProjectFacts;
  readonly #inProject: ProjectMemory;
  readonly #memory: ResourceMemory<T>;
  readonly #decision: Decision<T>;
  /** Whether this reconcile does nothing more for the resource: it is released, stored or gone, or the work failed. */
  #isDone = false;

  constructor(of: ReconcileOf<T>) {
    this.#context = of.context;
    this.#kind = of.kind;
    this.#memory = of.memory;
    this.#project = of.project;
    this.#inProject = of.inProject;
    this.#catchUp(of.scope, of.resource);
    this.#decision = new Decision(of);
    this.#endWait();
  }

  isOf(kind: Kind<KindTypes>): boolean {
    return this.#kind === (kind as unknown);
  }

  get uid(): string {
    return this.#resource.uid;
  }

  get plan(): PlanOf<T> {
    return this.#decision.plan;
  }

  get isDue(): boolean {
    return this.#decision.isDue;
  }

  get historyRange(): HistoryRange | undefined {
    return this.#decision.shownLog?.since;
  }

  get #resource(): T["resource"] {
    return this.#decision.resource;
  }

  get #isWaiting(): boolean {
    return this.#memory.waitingSinceMs !== undefined;
  }

  /** Whether the decision needs the control plane, or its operations are worth a read that happens anyway. */
  wantsRead(): "Needed" | "Useful" | "No" {
    const { plan, shownLog } = this.#decision;
    // Without the finalizer nothing is decided from reads: nothing may be created outside the cluster before it is stored.
    const isUnguarded = !isBeingDeleted(this.#resource) && !this.#hasFinalizer();
    if (this.#isDone || isUnguarded || (plan.kind !== "Look" && shownLog === undefined)) {
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
    const isEdited = this.#decision.isChanged && this.#memory.mark !== undefined;
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
      this.#take(current);
      this.#endWait();
      await this.#addFinalizer();
      await this.#decision.observe(undefined);
      if (this.wantsRead() === "No") {
        await this.#conclude();
      }
    });
  }

  #take(resource: T["resource"]): void {
    this.#decision.resource = resource;
    this.#catchUp(this.#decision.scope, resource);
    this.#decision.plan = this.#decision.decide();
  }

  /** Before the reads, only the plan `Look` can lead to a change. With any other plan, the resource waits for nothing. */
  #endWait(): void {
    if (this.plan.kind !== "Look") this.#memory.waitingSinceMs = undefined;
  }

  /** Nothing is created outside the cluster before the finalizer is stored. */
  async #addFinalizer(): Promise<void> {
    const isWanted = this.plan.kind === "Look" && !isBeingDeleted(this.#resource);
    if (isWanted && !this.#hasFinalizer()) {
      this.#take(await this.#kind.store.addFinalizer(this.#resource));
      this.#context.logger.info(resourceFields(this.#resource), "finalizer added");
    }
  }

  #hasFinalizer(): boolean {
    return this.#resource.finalizers.includes(this.#kind.finalizer);
  }

  /** Decides with the reads of the project, and makes those that the decision asks for. */
  async look(project: ProjectReads, from: ControlPlane): Promise<void> {
    await this.#guarded(async () => {
      try {
        await this.#decision.observe(from, project);
      } catch (error) {
        if (!(error instanceof ControlPlaneError)) throw error;
        this.#decision.readError = error;
      }
      this.#noteWaiting();
    });
  }

  /** A change that is held back does not wait. A resource that is due waits also for the list of a locked project. */
  #noteWaiting(): void {
    const { shape, readError } = this.#decision;
    const isWish = shape === "Change" && this.#heldBack() === undefined;
    const isWaiting = readError === undefined && (isWish || (shape === "Look" && this.isExpecting()));
    const sinceMs = this.#memory.waitingSinceMs ?? this.#project.monotonicMs;
    this.#memory.waitingSinceMs = isWaiting ? sinceMs : undefined;
  }

  /** The change that the resource waits to send. */
  wish(): WaitingChange | undefined {
    const { waitingSinceMs: sinceMs } = this.#memory;
    const { shape } = this.#decision;
    if (this.#isDone || sinceMs === undefined || shape !== "Change") {
      return undefined;
    }
    const { uid, key } = this.#resource;
    return { uid, namespace: key.namespace, urgency: this.#urgency(), sinceMs };
  }

  #urgency(): Urgency {
    if (isBeingDeleted(this.#resource)) {
      return "Deletion";
    }
    return this.#decision.scope.openAttempt(this.#resource) === undefined ? "Other" : "OpenCreate";
  }

  /** Sends the change. Claims and grants may have changed since the decision, so they are looked up again. */
  async send(calls: ChangeCalls): Promise<void> {
    this.#decision.scope = this.#kind.begin(this.#project);
    await this.#guarded(() => inResourceSpan(this.#context, this.#resource, () => this.#send(calls)));
  }

  async #send({ reserve, controlPlane, isCurrent }: ChangeCalls): Promise<void> {
    await reserve();
    const memory = this.#memory;
    const decision = this.#decision;
    const { scope } = decision;
    const sent = await sendChange({
      ...{ clock: this.#context.clock, events: this.#context.events, kind: this.#kind, scope, memory, controlPlane },
      ...{ step: { ...decision.step({ kind: "NothingSent" }), plan: this.plan }, isCurrent },
      decideFor: (resource) => decision.decide(resource),
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
    decision.resource = sent.resource;
    if (sent.kind === "Failed") {
      const { retryAtMs } = this.#noteFailure(sent.error);
      // The lock belongs to the project, so all its changes wait.
      if (sent.error.reason === "Locked") this.#inProject.lockedUntilMs = retryAtMs;
      await this.#store(this.#failed());
      return;
    }
    const { answer } = sent;
    const atMs = this.#context.clock.monotonicMs();
    this.#inProject.lastChange = { namespace: this.#resource.key.namespace, atMs };
    noteStarted(this.#inProject, answer.operations, atMs);
    decision.project?.noteAnswer();
    const accepted = { kind: "Accepted", answer } as const;
    memory.hint = scope.hintAfter?.(decision.step(accepted));
    await this.#store({ ...accepted, applied: await scope.apply?.(decision.step(accepted)) });
  }

  /** Stores the result, if it was not stored yet. */
  async store(): Promise<void> {
    if (!this.#isDone) {
      await this.#guarded(() => this.#conclude());
    }
  }

  async #conclude(): Promise<void> {
    const outcome = await this.#restingOutcome();
    const { shape, project } = this.#decision;
    const step = this.#decision.step(outcome);
    if (shape === "Release" && outcome.kind === "NothingSent") {
      await release(this.#target(), step);
      this.#isDone = true;
      this.#inProject.resources.delete(this.uid);
    } else if (shape === "Idle" && outcome.kind === "NothingSent" && project === undefined) {
      this.#rest(step);
    } else if (outcome.kind !== "Deferred" || this.isDue) {
      // A wait is stored when it is time to report it.
      await this.#store(outcome);
    }
  }

  async #restingOutcome(): Promise<Outcome<T>> {
    const decision = this.#decision;
    if (decision.readError !== undefined) {
      this.#noteFailure(decision.readError);
      return this.#failed();
    }
    switch (decision.shape) {
      case "Apply": {
        const applied = await decision.scope.apply?.(decision.step({ kind: "NothingSent" }));
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
      const isGone = isProjectGone && this.plan.kind === "Look" && isBeingDeleted(this.#resource);
      if (isGone) {
        this.#decision.plan = { kind: "RemoveFinalizer", cause: "ProjectGone" };
      }
      if (isGone || this.#decision.shape === "Release") {
        await this.#conclude();
        return;
      }
      await this.#store({ kind: "Failed", error, forMs, lockHolder: undefined });
      this.#memory.dueAtMs = this.#context.clock.monotonicMs() + nextReportMs(forMs);
    });
  }

  async #store(outcome: Outcome<T>): Promise<void> {
    const step = this.#decision.step(outcome);
    const stored = await storeStep(this.#target(), step);
    this.#isDone = true;
    if (stored === undefined) {
      // The resource is gone or replaced. The watch reports that soon.
      this.#memory.dueAtMs = 0;
      return;
    }
    this.#memory.writeFailures = 0;
    const isRest = outcome.kind === "NothingSent" && this.#decision.shape === "Rest";
    if (isRest || outcome.kind === "Accepted" || outcome.kind === "Applied") {
      this.#memory.failure = undefined;
    }
    this.#decision.resource = stored;
    this.#catchUp(this.#decision.scope, stored);
    this.#rest(step);
  }

  /** Notes what was decided from, and when the resource is due again. */
  #rest(step: Step<T>): void {
    this.#memory.mark = this.#decision.mark();
    this.#memory.hint = this.#decision.scope.hintAfter?.(step);
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
    if (plan?.kind === "Idle" && plan.dueInMs === undefined && !this.isDue) {
      return this.#memory.dueAtMs;
    }
    const ownMs = outcome.kind === "Accepted" ? undefined : delayOf(plan);
    const delayMs = ownMs ?? this.#decision.scope.dueInMs(step);
    return delayMs === undefined ? Infinity : nowMs + delayMs;
  }

  #noteFailure(error: ControlPlaneError): FailureRow {
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
    return { kind: "Failed", error: failure.error, forMs, lockHolder: this.#decision.project?.lockHolder };
  }

  /** Returns the failure that holds a change back. A person's edit or request ends the wait. */
  #heldBack(): FailureRow | undefined {
    const { failure } = this.#memory;
    const isHeld = failure?.generation === this.#resource.generation && this.#project.monotonicMs < failure.retryAtMs;
    return isHeld && !this.isAskedFor() ? failure : undefined;
  }

  #target(): StoreTarget<T> {
    return { context: this.#context, kind: this.#kind, scope: this.#decision.scope, memory: this.#memory };
  }

  /** Counts what the stored status holds, and takes up what it says about creates. */
  #catchUp(scope: StoreTarget<T>["scope"], resource: T["resource"]): void {
    const memory = this.#memory;
    countStored(this.#context, memory.pending, resource);
    const attempt = scope.openAttempt(resource);
    if (attempt !== undefined && attempt !== memory.posts?.attempt) {
      // An earlier process may have sent a request under this note.
      const { monotonicMs: sinceMs } = this.#project;
      memory.posts = { attempt, isUnresolved: true, sinceMs, answer: undefined };
    }
    const { posts } = memory;
    if (posts?.answer !== undefined && (scope.hasResult?.(resource) ?? attempt !== posts.attempt)) {
      memory.posts = undefined;
    }
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    const on = () => ({ context: this.#context, kind: this.#kind, memory: this.#memory, resource: this.#resource });
    if (!(await guarded(on, work))) {
      this.#isDone = true;
      // Before the backoff has passed, only a change of the resource makes it due.
      this.#memory.mark = this.#decision.mark();
    }
  }
}

function delayOf(plan: CommonPlan | undefined): number | undefined {
  return plan?.kind === "Wait" ? plan.waitMs : plan?.kind === "Idle" ? plan.dueInMs : undefined;
}

/** Until the watch reports that a resource is gone, the operator checks again at this interval, in milliseconds. */
const goneAgainMs = 1_000;
