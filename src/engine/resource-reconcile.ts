/** One resource in one reconcile: decide, observe, decide; then one change, or one result to store. */
import type { ControlPlane } from "../domain/control-plane.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { annotations } from "../resource/names.ts";
import { isBeingDeleted } from "../resource/stored-object.ts";
import { Decision, type DecisionOf } from "./decision.ts";
import { nextFailure, nextReportMs } from "./failures.ts";
import { guarded } from "./guarded.ts";
import type { EngineContext, Kind, KindTypes, Outcome, Step } from "./kind.ts";
import type { FailureRow, ProjectMemory } from "./memory.ts";
import { noteStarted, type ProjectReads } from "./project-reads.ts";
import { inResourceSpan, resourceFields } from "./report.ts";
import { dueAfter, isAtWork, type WaitingChange } from "./schedule.ts";
import { type Calls, notePosts, sendChange } from "./send-change.ts";
import { release, storeStep } from "./store-step.ts";

export interface ReconcileParts<T extends KindTypes> extends DecisionOf<T> {
  readonly context: EngineContext;
  readonly kind: Kind<T>;
  readonly projectMemory: ProjectMemory;
}

export class ResourceReconcile<T extends KindTypes> extends Decision<T> {
  readonly context: EngineContext;
  readonly kind: Kind<T>;
  readonly #projectMemory: ProjectMemory;
  /** Why a read that the decision needs failed; `undefined`: none failed. */
  #readError: ControlPlaneError | undefined;
  /** Whether this reconcile does nothing more for the resource: it is released, stored or gone, or the work failed. */
  #isDone = false;

  constructor(of: ReconcileParts<T>) {
    notePosts(of);
    super(of);
    this.context = of.context;
    this.kind = of.kind;
    this.#projectMemory = of.projectMemory;
    this.#endWait();
  }

  get #nowMs(): number {
    return this.context.clock.monotonicMs();
  }

  get isWaiting(): boolean {
    return this.memory.waitingSinceMs !== undefined;
  }

  /** Whether the decision needs the control plane, or its operations are worth a read that happens anyway. */
  wantsRead(): boolean {
    const { plan, shownLog } = this;
    // Without the finalizer nothing is decided from reads: nothing may be created outside the cluster before it is stored.
    const isUnguarded = !isBeingDeleted(this.resource) && this.#lacksFinalizer();
    return !this.#isDone && !isUnguarded && (plan.kind === "Look" || shownLog !== undefined);
  }

  /** Whether any read of the project may help it on: it is due, at work, or waits. */
  isExpecting(): boolean {
    return this.isDue || this.isWaiting || isAtWork(this.resource);
  }

  /** Whether a person waits for it. After a restart all resources are due, and none of them is urgent for that. */
  isUrgent(): boolean {
    const isEdited = this.isChanged && this.memory.decidedFrom !== undefined;
    return this.isAskedFor() || this.isWaiting || isAtWork(this.resource) || isEdited;
  }

  /** Whether a person asked for a reconcile, or changed spec, since the status was last stored. */
  isAskedFor(): boolean {
    const { annotations: given, generation, status } = this.resource;
    const requested = given[annotations.reconcileRequestedAt] ?? "";
    return generation !== status.observedGeneration || requested !== (status.lastHandledReconcileAt ?? "");
  }

  /** Takes the newest version, and carries out what needs no control plane. An outage never delays it. */
  async decideLocally(): Promise<void> {
    if (!this.isDue) {
      return;
    }
    await this.#guarded(async () => {
      const current = await this.kind.store.current(this.resource.key);
      if (current?.uid !== this.resource.uid) {
        this.#isDone = true;
        return;
      }
      this.#take(current);
      this.#endWait();
      await this.#addFinalizer();
      await this.readLocally();
      if (!this.wantsRead()) {
        await this.#conclude();
      }
    });
  }

  #take(resource: T["resource"]): void {
    this.resource = resource;
    notePosts(this);
    this.plan = this.decide();
  }

  /** Before the reads, only the plan `Look` can lead to a change. With any other plan, the resource waits for nothing. */
  #endWait(): void {
    if (this.plan.kind !== "Look") this.memory.waitingSinceMs = undefined;
  }

  /** Nothing is created outside the cluster before the finalizer is stored. */
  async #addFinalizer(): Promise<void> {
    const isWanted = this.plan.kind === "Look" && !isBeingDeleted(this.resource);
    if (isWanted && this.#lacksFinalizer()) {
      this.#take(await this.kind.store.addFinalizer(this.resource));
      this.context.logger.info(resourceFields(this.resource), "finalizer added");
    }
  }

  #lacksFinalizer(): boolean {
    const isGuarded = this.scope.isGuarded?.(this.resource) ?? true;
    return isGuarded && !this.resource.finalizers.includes(this.kind.finalizer);
  }

  /** @param isTurn whether no change of the queue comes before that of this resource */
  async decideWithReads(from: ControlPlane, reads: ProjectReads, isTurn: boolean): Promise<void> {
    await this.#guarded(async () => {
      try {
        await this.readAndDecide(from, reads, isTurn);
      } catch (error) {
        if (!(error instanceof ControlPlaneError)) throw error;
        this.#readError = error;
      }
      this.#noteWaiting();
    });
  }

  /** A change that is held back does not wait. A resource that is due waits also for the list of a locked project. */
  #noteWaiting(): void {
    const { shape } = this;
    const isWish = shape === "Change" && !this.#isHeldBack;
    const isWaiting = this.#readError === undefined && (isWish || (shape === "Look" && this.isExpecting()));
    const sinceMs = this.memory.waitingSinceMs ?? this.project.monotonicMs;
    this.memory.waitingSinceMs = isWaiting ? sinceMs : undefined;
  }

  wish(): WaitingChange | undefined {
    return this.#isDone || this.shape !== "Change" ? undefined : this.#waiting();
  }

  /** A change that waited before, while nothing has changed for its resource. Its own reads are made at its turn. */
  queued(): WaitingChange | undefined {
    return this.isDue || this.plan.kind !== "Look" ? undefined : this.#waiting();
  }

  #waiting(): WaitingChange | undefined {
    const { waitingSinceMs: sinceMs } = this.memory;
    const { uid, key } = this.resource;
    const hasOpenCreate = this.scope.openAttempt(this.resource) !== undefined;
    const precedence = isBeingDeleted(this.resource) ? "Deletion" : hasOpenCreate ? "OpenCreate" : "Other";
    return sinceMs === undefined ? undefined : { uid, namespace: key.namespace, precedence, sinceMs };
  }

  /** Sends the change. Claims and grants may have changed since the decision, so they are looked up again. */
  async send(calls: Calls): Promise<void> {
    this.scope = this.kind.begin(this.project);
    await this.#guarded(() => inResourceSpan(this.context, this.resource, () => this.#send(calls)));
  }

  async #send(calls: Calls): Promise<void> {
    const { memory, scope } = this;
    const sent = await sendChange(this, calls);
    memory.waitingSinceMs = undefined;
    if (sent.kind === "Outdated") {
      memory.dueAtMs = 0;
      return;
    }
    this.resource = sent.resource;
    if (sent.kind === "Failed") {
      const { retryAtMs } = this.#noteFailure(sent.error);
      // The lock belongs to the project, so all its changes wait.
      if (sent.error.reason === "Locked") this.#projectMemory.lockedUntilMs = retryAtMs;
      await this.#storeOutcome(this.#failed());
      return;
    }
    const { answer } = sent;
    const atMs = this.#nowMs;
    this.#projectMemory.lastChange = { namespace: this.resource.key.namespace, atMs };
    noteStarted(this.#projectMemory, answer.operations, atMs);
    this.projectReads?.noteAnswer();
    const accepted = { kind: "Accepted", answer } as const;
    // If `apply` fails, the next reconcile carries on from here.
    memory.hint = scope.hintAfter?.(this.step(accepted));
    await this.#storeOutcome({ ...accepted, applied: await scope.apply?.(this.step(accepted)) });
  }

  /** Carries out a decision that sends nothing, if that was not done yet. */
  async finish(): Promise<void> {
    if (!this.#isDone) {
      await this.#guarded(() => this.#conclude());
    }
  }

  async #conclude(): Promise<void> {
    const outcome = await this.#restingOutcome();
    const { shape, projectReads } = this;
    const step = this.step(outcome);
    if (shape === "RemoveFinalizer" && outcome.kind === "NothingSent") {
      await release(this, step);
      this.#isDone = true;
    } else if (shape === "Idle" && outcome.kind === "NothingSent" && projectReads === undefined) {
      this.#rest(step);
    } else if (outcome.kind !== "Deferred" || this.isDue) {
      // A wait is stored when it is time to report it.
      await this.#storeOutcome(outcome);
    }
  }

  async #restingOutcome(): Promise<Outcome<T>> {
    if (this.#readError !== undefined) {
      this.#noteFailure(this.#readError);
      return this.#failed();
    }
    switch (this.shape) {
      case "Apply": {
        const applied = await this.scope.apply?.(this.step({ kind: "NothingSent" }));
        return applied === undefined ? { kind: "NothingSent" } : { kind: "Applied", applied };
      }
      case "Change":
        return this.#isHeldBack ? this.#failed() : this.#deferred();
      case "Look":
        return this.isWaiting ? this.#deferred() : { kind: "NothingSent" };
      default:
        return { kind: "NothingSent" };
    }
  }

  #deferred(): Outcome<T> {
    const { monotonicMs } = this.project;
    const sinceMs = this.memory.waitingSinceMs ?? monotonicMs;
    // In a burst, a new resource reports its wait only if the changes of the project stop. That saves a write for each.
    const isNew = this.resource.status.conditions === undefined;
    const quietSinceMs = Math.max(sinceMs, this.#projectMemory.lastChange?.atMs ?? 0);
    return { kind: "Deferred", waitedMs: monotonicMs - (isNew ? quietSinceMs : sinceMs) };
  }

  /**
   * Reports that the project cannot be read. A decision that needs no control plane stays valid.
   * @param isProjectGone whether it was deleted: for a minute it answers 404 to the key that has listed it before
   */
  async fail(error: ControlPlaneError, forMs: number, isProjectGone: boolean): Promise<void> {
    if (this.#isDone) {
      return;
    }
    await this.#guarded(async () => {
      const isGone = isProjectGone && this.plan.kind === "Look" && isBeingDeleted(this.resource);
      if (isGone) {
        this.plan = { kind: "RemoveFinalizer", cause: "ProjectGone" };
      }
      if (isGone || this.shape === "RemoveFinalizer") {
        await this.#conclude();
        return;
      }
      await this.#storeOutcome({ kind: "Failed", error, forMs, lockHolder: undefined });
      this.memory.dueAtMs = this.#nowMs + nextReportMs(forMs);
    });
  }

  async #storeOutcome(outcome: Outcome<T>): Promise<void> {
    const step = this.step(outcome);
    const stored = await storeStep(this, step);
    this.#isDone = true;
    if (stored === undefined) {
      return;
    }
    this.memory.writeFailures = 0;
    const isRest = outcome.kind === "NothingSent" && this.shape === "Rest";
    if (isRest || outcome.kind === "Accepted" || outcome.kind === "Applied") {
      this.memory.failure = undefined;
    }
    this.resource = stored;
    notePosts(this);
    this.#rest(step);
  }

  /** Notes what was decided from, and when the resource is due again. */
  #rest(step: Step<T>): void {
    this.memory.decidedFrom = this.basis();
    this.memory.hint = this.scope.hintAfter?.(step);
    const { isDue, scope } = this;
    const nowMs = this.#nowMs;
    this.memory.dueAtMs = dueAfter(step, { nowMs, isDue, kindMs: scope.dueInMs(step) });
  }

  #noteFailure(error: ControlPlaneError): FailureRow {
    const { generation } = this.resource;
    const nowMs = this.#nowMs;
    const failure = nextFailure(this.memory.failure, { error, generation, nowMs }, this.context);
    this.memory.failure = failure;
    return failure;
  }

  #failed(): Outcome<T> {
    const { failure } = this.memory;
    const lockHolder = this.projectReads?.lockHolder;
    return failure === undefined
      ? { kind: "NothingSent" }
      : { kind: "Failed", error: failure.error, forMs: this.#nowMs - failure.sinceMs, lockHolder };
  }

  /** Whether a failure holds a change back. A new spec or a reconcile request ends the wait, a rotation request does not. */
  get #isHeldBack(): boolean {
    const { failure } = this.memory;
    const isHeld = failure?.generation === this.resource.generation && this.project.monotonicMs < failure.retryAtMs;
    return isHeld && !this.isAskedFor();
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    if (!(await guarded(this, work))) {
      this.#isDone = true;
      // Before the backoff has passed, only a change of the resource makes it due.
      this.memory.decidedFrom = this.basis();
    }
  }
}
