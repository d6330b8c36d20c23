import { LeaderFenceError } from "../domain/leader-fence.ts";
import { KubernetesError, type ResourceKey } from "../domain/resource-store.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { reasonOf, type Tracer } from "../domain/tracer.ts";
import type { Requeue } from "../domain/worker.ts";
import { eventsFor, releaseEvents } from "../plan/events-for.ts";
import { endedAtLast } from "../plan/operation-log.ts";
import type { Pass } from "../plan/pass.ts";
import type { Plan } from "../plan/plan.ts";
import type { StatusStep } from "../plan/status-for.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { deleteUnrecorded } from "./delete-unrecorded.ts";
import type { LostWrite } from "./ledger.ts";
import { serviceProjectOf } from "./observe.ts";
import {
  countEnded,
  countedField,
  publish,
  type ReportTargets,
  reportPass,
  resourceFields,
  tellDropped,
  tracePass,
} from "./report-pass.ts";
import { nextLookMs } from "./requeue.ts";
import { type PassContext, runPass } from "./run-pass.ts";
import type { Service } from "./service.ts";
import { type StoredStep, storeStatus } from "./store-status.ts";

/** What the reconciler works with. */
export interface ReconcilerOptions extends Omit<PassContext, "service" | "announce">, ReportTargets {
  /** The control plane that knows a resource; `undefined` asks for the one of the settings. */
  readonly controlPlaneFor: (resource: ComputeEndpoint | undefined) => Service;
  /** Looks at another key again. */
  readonly wake: (key: ResourceKey) => void;
  /** @default nothing is traced */
  readonly tracer?: Tracer | undefined;
}

/** An endpoint that could not be deleted after its resource was gone is tried again this often. */
const cleanUpAgainMs = 2_000;

/**
 * One pass for one key: observe → plan → apply → status. Level-triggered: why a key came is unknown here.
 *
 * Guarantees: at most one effect a pass; at most one status patch, and only if something changed; a crash anywhere is an
 * ordinary starting state. Errors: none; what is not expected is logged and tried again.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Works on one key. Assumption: never called for a key that is being worked on. */
  reconcile(key: ResourceKey): Promise<Requeue> {
    const { tracer } = this.#options;
    const attributes = { "k8s.namespace.name": key.namespace, "resource.name": key.name };
    return tracer === undefined ? this.#pass(key) : tracer.inSpan({ name: "pass", attributes }, () => this.#pass(key));
  }

  async #pass(key: ResourceKey): Promise<Requeue> {
    try {
      const resource = await this.#options.store.current(key);
      const service = this.#options.controlPlaneFor(resource);
      this.#dropGone(service, key, resource?.uid);
      const isSomethingLeft = await deleteUnrecorded({ ...this.#options, service }, key, resource);
      const requeue = resource === undefined ? this.#forget(key) : await this.#reconcileResource(service, resource);
      return isSomethingLeft ? sooner(requeue, cleanUpAgainMs) : requeue;
    } catch (error) {
      this.#options.tracer?.fail(reasonOf(error));
      this.#logUnexpected(key, error);
      return { kind: "Retry" };
    }
  }

  async #reconcileResource(service: Service, resource: ComputeEndpoint): Promise<Requeue> {
    this.#settleLostWrite(resource);
    const announce: PassContext["announce"] = (events) => publish(this.#options.events, resource, events);
    const pass = await runPass({ ...this.#options, service, announce }, resource);
    const { tracer, logger } = this.#options;
    if (tracer !== undefined) {
      tracePass(tracer, pass);
    }
    if (pass.plan?.kind === "AddFinalizer") {
      await this.#options.store.addFinalizer(resource);
      logger.info({ ...resourceFields(resource), plan: pass.plan.kind }, "finalizer added");
      return { kind: "RequeueAfter", delayMs: 0 };
    }
    if (pass.plan?.kind === "RemoveFinalizer") {
      announce(releaseEvents(pass.plan));
      return this.#release(service, pass, pass.plan);
    }
    const onDoubt = ({ status, ended, dropped }: StatusStep, attempted: Pass) => {
      const lost = { status, ended, dropped, events: eventsFor(attempted, status) };
      this.#options.ledger.writeLost(resource.key, resource.uid, lost);
    };
    const stored = await storeStatus(this.#options.store, pass, onDoubt);
    if (stored === undefined) {
      return { kind: "RequeueAfter", delayMs: 0 };
    }
    this.#afterStoring(service, pass, stored);
    return this.#requeueFor(pass);
  }

  /** The answer to the last status write was lost; what the resource shows now tells whether it took effect. */
  #settleLostWrite(resource: ComputeEndpoint): void {
    const { ledger, metrics, events } = this.#options;
    const lost = ledger.lostWriteOf(resource.uid);
    if (lost !== undefined && hasLanded(lost, resource.status)) {
      ledger.lostWriteDecided(resource.uid);
      countEnded(metrics, resource, lost.ended);
      tellDropped(this.#options, resource, lost.dropped);
      publish(events, resource, lost.events);
    }
  }

  #afterStoring(service: Service, pass: Pass, stored: StoredStep): void {
    const { resource } = pass.local;
    if (stored.status.ownership !== undefined || stored.status.createIntent === undefined) {
      this.#options.ledger.createStored(resource.uid);
    }
    if (stored.hasChanged) {
      this.#options.ledger.lostWriteDecided(resource.uid);
    }
    if (pass.plan?.kind === "RecordIntent" && pass.outcome.kind === "Done") {
      this.#options.ledger.intentStored(resource.uid, stored.resourceVersion);
    }
    reportPass(this.#options, pass, stored);
    if (stored.countedTime !== undefined) {
      this.#options.ledger.logCounted(resource.key, resource.uid, Date.parse(stored.countedTime));
    }
    giveBack(service, pass, stored.status);
    if (hasNewStanding(resource.status, stored.status)) {
      this.#wakeLosers(this.#options.store.inProject(serviceProjectOf(resource) ?? ""));
    }
  }

  async #release(service: Service, pass: Pass, plan: Extract<Plan, { kind: "RemoveFinalizer" }>): Promise<Requeue> {
    const { store, ledger, logger, metrics } = this.#options;
    const { resource } = pass.local;
    const ended = endedAtLast(pass);
    try {
      await store.removeFinalizer(resource);
    } catch (error) {
      // If the resource turns out to be gone, nobody else will count them.
      ledger.writeLost(resource.key, resource.uid, { status: undefined, ended, dropped: [], events: [] });
      throw error;
    }
    countEnded(metrics, resource, ended);
    ledger.drop(resource.uid);
    leaveAll(service, resource);
    this.#wakeLosers(store.inProject(serviceProjectOf(resource) ?? ""));
    const endpointId = resource.status.ownership?.endpointId;
    const told = {
      ...resourceFields(resource),
      endpointId,
      plan: plan.kind,
      cause: plan.cause,
      ...countedField(ended),
    };
    logger.info(told, "resource released");
    return { kind: "Done" };
  }

  /** A resource that lost its finalizer by force never says goodbye, and another may have its name by now. */
  #dropGone(service: Service, key: ResourceKey, liveUid: string | undefined): void {
    const { ledger, metrics } = this.#options;
    service.turns.releaseGone(key, liveUid);
    service.lanes.abandonGone(key, liveUid);
    const awaitingCleanUp = new Set(ledger.unrecorded().map(({ uid }) => uid));
    for (const uid of ledger.uidsUnder(key)) {
      if (uid !== liveUid && !awaitingCleanUp.has(uid)) {
        countEnded(metrics, { key }, ledger.lostWriteOf(uid)?.ended ?? []);
        ledger.drop(uid);
      }
    }
  }

  #forget(key: ResourceKey): Requeue {
    const { metrics, store } = this.#options;
    metrics.forgetResource(key);
    this.#wakeLosers(store.list());
    return { kind: "Done" };
  }

  #requeueFor(pass: Pass): Requeue {
    const { policy, ledger, clock, random } = this.#options;
    if (pass.outcome.kind === "Failed") {
      const retryAtMs = ledger.memoryOf(pass.local.resource.uid).failure?.retryAtMs ?? 0;
      return { kind: "RequeueAfter", delayMs: Math.max(0, retryAtMs - clock.monotonicMs()) };
    }
    return { kind: "RequeueAfter", delayMs: nextLookMs(pass, policy) ?? policy.resyncMs * (1 - 0.2 * random()) };
  }

  /** Whoever waits for another resource to give way is looked at when that one goes or changes its standing. */
  #wakeLosers(resources: readonly ComputeEndpoint[]): void {
    for (const { key, status } of resources) {
      if (conditionOf(status.conditions, "Stalled")?.reason === "ClaimedByAnother") {
        this.#options.wake(key);
      }
    }
  }

  /** Conflicts are everyday life, and a process that may not act says so elsewhere. */
  #logUnexpected(key: ResourceKey, error: unknown): void {
    const isSilent =
      error instanceof LeaderFenceError ||
      (error instanceof KubernetesError && (error.reason === "Conflict" || error.reason === "NotFound"));
    if (!isSilent) {
      this.#options.logger.error({ ...key, err: error }, "pass failed");
    }
  }
}

/** A write that counted something moved the watermark; only the whole status tells of any other. */
function hasLanded({ status, ended }: LostWrite, now: ComputeEndpointStatus): boolean {
  if (status === undefined) {
    return false;
  }
  return ended.length > 0 ? isSameStored(now.operationWatermark, status.operationWatermark) : isSameStored(now, status);
}

/** Lane and turn are kept only by who still needs them. */
function giveBack(service: Service, { local, plan, outcome, observation }: Pass, status: ComputeEndpointStatus): void {
  const { uid } = local.resource;
  const isCreating = status.createIntent !== undefined && plan?.kind !== "Stall";
  const isAboutToCreate = plan?.kind === "RecordIntent" && outcome.kind === "Deferred";
  if (!isCreating && !isAboutToCreate) {
    service.turns.release(uid);
  }
  if (outcome.kind !== "Waiting") {
    service.turns.stopWaiting(local.resource.key);
  }
  const isTurnedAway = outcome.kind === "Deferred" || (outcome.kind === "Failed" && outcome.error.reason === "Locked");
  const isAboutToPost = isCreating && plan?.kind === "RecordIntent";
  const projectId = observation?.project.projectId ?? serviceProjectOf(local.resource);
  if (projectId !== undefined && !isTurnedAway && !isAboutToPost) {
    service.lanes.withdraw(projectId, uid);
  }
}

function leaveAll(service: Service, resource: ComputeEndpoint): void {
  service.turns.release(resource.uid);
  service.turns.stopWaiting(resource.key);
  const projectId = serviceProjectOf(resource);
  if (projectId !== undefined) {
    service.lanes.abandon(projectId, resource.uid);
  }
}

function sooner(requeue: Requeue, delayMs: number): Requeue {
  return requeue.kind === "RequeueAfter" && requeue.delayMs < delayMs ? requeue : { kind: "RequeueAfter", delayMs };
}

function hasNewStanding(before: ComputeEndpointStatus, next: ComputeEndpointStatus): boolean {
  const reasonOf = (status: ComputeEndpointStatus, type: "Ready" | "Stalled") =>
    conditionOf(status.conditions, type)?.reason;
  return (
    reasonOf(before, "Stalled") !== reasonOf(next, "Stalled") ||
    reasonOf(before, "Ready") !== reasonOf(next, "Ready") ||
    before.ownership?.endpointId !== next.ownership?.endpointId ||
    before.createIntent?.attempt !== next.createIntent?.attempt
  );
}
