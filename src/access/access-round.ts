import { nextReportMs } from "../decide/call-failures.ts";
import { isIdentityProven } from "../decide/identity.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import type { ProjectSnapshot } from "../domain/endpoint.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { inParallel } from "../reconcile/in-parallel.ts";
import type { FailedRead, KindChange, KindLook, KindRound } from "../reconcile/ports.ts";
import type { WaitingChange } from "../reconcile/project-memory.ts";
import { byTurns } from "../reconcile/schedule.ts";
import { isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import { parseProjectKey } from "../resource/control-plane-resource.ts";
import {
  type AccessContext,
  type AccessObservation,
  seenOf,
  validSpecOf,
  type WorkedAccess,
} from "./access-observation.ts";
import { recordedObjects, recordsWith } from "./access-records.ts";
import {
  guardedStep,
  noteFailure,
  releaseResource,
  settledChanges,
  storeFailure,
  storeStep,
  writeSecret,
} from "./access-steps.ts";
import { eventOfGone, summaryOfFailure, unchanged, waits } from "./access-summary.ts";
import { type BoundEndpoint, boundEndpoint, referenceOf } from "./endpoint-reference.ts";
import {
  BranchReader,
  configMarkOf,
  isUnchangedInKubernetes,
  nextToDelete,
  observeAccess,
  settleLeftMs,
} from "./observe-access.ts";
import {
  type AccessMutation,
  type AccessPlan,
  isAccessMutation,
  isRotationAsked,
  planAccess,
  rotationDueMs,
} from "./plan-access.ts";
import { planLocally } from "./plan-locally.ts";
import { sendWish, storeSent, type Wish } from "./send-access-change.ts";

/** The maximum number of waiting resources that one reconcile decides again. */
const waitingLimit = 20;
/** After this many milliseconds, status reports that a change waits. */
const quietWaitMs = 5_000;
/** The interval at which a Secret is compared with the operator's last write, in milliseconds. */
const secretCheckMs = 45_000;

type Decided =
  | Wish
  | {
      readonly kind: "Rest";
      readonly plan: Exclude<AccessPlan, AccessMutation>;
      readonly observation: AccessObservation;
    }
  | { readonly kind: "Released" };

export class AccessRound implements KindRound {
  readonly #context: AccessContext;
  readonly #worked: Map<string, WorkedAccess>;
  readonly #looking = new Set<string>();
  readonly #decided = new Map<string, Decided>();

  constructor(context: AccessContext, worked: readonly WorkedAccess[]) {
    this.#context = context;
    this.#worked = new Map(worked.map((each) => [each.resource.uid, each]));
  }

  async decideLocally(): Promise<void> {
    await this.#forEach(
      (each) => this.#isDue(each),
      (worked) => this.#decideLocally(worked),
    );
  }

  chooseDue(): boolean {
    return this.#looking.size > 0;
  }

  /** Only unfinished work asks for reads. All other resources are compared when the project is read anyway. */
  isUrgent(): boolean {
    const isLooking = (worked: WorkedAccess) => this.#looking.has(worked.resource.uid) && isAtWork(worked);
    return this.isWaiting() || [...this.#worked.values()].some(isLooking);
  }

  /** A DatabaseAccess does not name the project, so an edit does not make the project readable. */
  mayEndRefusal(): boolean {
    return false;
  }

  isWaiting(): boolean {
    return [...this.#worked.values()].some(({ entry }) => entry.waitingSinceMs !== undefined);
  }

  async look(look: KindLook): Promise<void> {
    const reader = new BranchReader(look.controlPlane);
    const wanted = inTurns([...this.#worked.values()].filter((worked) => this.#needsLook(worked, look)));
    const chosen = new Set(wanted.slice(0, Math.max(waitingLimit, this.#looking.size)));
    await this.#forEach(
      (each) => chosen.has(each),
      async (worked) => {
        try {
          await this.#decideAnew(worked, reader, look);
        } catch (error) {
          if (!(error instanceof ControlPlaneError)) throw error;
          noteFailure(this.#context, worked, error);
          await storeFailure(this.#context, worked, error);
        }
      },
    );
  }

  wishes(): readonly WaitingChange[] {
    return [...this.#decided].flatMap(([uid, decided]) => {
      const worked = this.#worked.get(uid);
      if (worked === undefined || !isWish(decided)) {
        return [];
      }
      const { entry, resource } = worked;
      const urgency = decided.kind === "Delete" ? "Deletion" : "Other";
      const sinceMs = entry.waitingSinceMs ?? this.#context.monotonicMs;
      return [{ uid, namespace: resource.key.namespace, urgency, sinceMs }];
    });
  }

  /** `look` has decided about every change that waits. */
  async isStillWanted(): Promise<boolean> {
    return true;
  }

  async change(uid: string, change: KindChange): Promise<void> {
    const worked = this.#worked.get(uid);
    const decided = this.#decided.get(uid);
    if (worked === undefined || decided === undefined || !isWish(decided)) {
      return;
    }
    await guardedStep(this.#context, worked, async () => {
      worked.entry.dueAtMs = this.#context.monotonicMs;
      const sent = await sendWish(this.#context, worked, decided, change);
      if (sent.kind !== "Outdated") {
        // The project must learn what was sent, even if the result cannot be stored.
        change.noteSent(sent);
        worked.entry.compared = undefined;
        await storeSent(this.#context, worked, decided, sent);
      }
    });
  }

  async store(changedUid: string | undefined): Promise<void> {
    await this.#forEach(
      ({ resource: { uid } }) => uid !== changedUid && this.#decided.has(uid),
      (worked) => this.#storeDecided(worked),
    );
  }

  async fail({ error, forMs, isProjectGone }: FailedRead): Promise<void> {
    await this.#forEach(
      ({ resource }) => this.#looking.has(resource.uid),
      async (worked) => {
        const { resource, entry } = worked;
        const { identity, monotonicMs, key } = this.#context;
        const isGone = isProjectGone && isBeingDeleted(resource);
        const { projectId } = parseProjectKey(key);
        const left = recordedObjects(resource, identity).filter((object) => object.projectId !== projectId);
        if (isGone) this.#context.events.record(resource, eventOfGone(projectId));
        if (isGone && left.length === 0) {
          // At once: without records and ComputeEndpoint it would belong to no project, and nothing would make it due.
          await this.#release(worked);
          return;
        }
        const changes = isGone ? { records: recordsWith(resource, identity, left) } : {};
        await storeStep(this.#context, worked, summaryOfFailure(resource, error, forMs), changes);
        entry.seen = undefined;
        entry.dueAtMs = monotonicMs + (isGone ? 0 : nextReportMs(forMs));
      },
    );
  }

  nextDueMs(): number {
    const dues = [...this.#worked.values()].map(({ entry }) => entry.dueAtMs);
    return dues.reduce((first, each) => Math.min(first, each), Number.POSITIVE_INFINITY);
  }

  /** Does the work for each resource that is chosen. The failure of one does not affect the others. */
  async #forEach(
    isChosen: (worked: WorkedAccess) => boolean,
    work: (worked: WorkedAccess) => Promise<void>,
  ): Promise<void> {
    await inParallel([...this.#worked.values()].filter(isChosen), (worked) =>
      guardedStep(this.#context, worked, () => work(worked)),
    );
  }

  #isDue(worked: WorkedAccess): boolean {
    const { monotonicMs, policy } = this.#context;
    const { entry } = worked;
    const isResync = entry.compared !== undefined && monotonicMs - entry.compared.atMs >= policy.resyncMs;
    return isResync || entry.seen !== seenOf(worked) || entry.dueAtMs <= monotonicMs;
  }

  async #decideLocally(worked: WorkedAccess): Promise<void> {
    const { store, clock, policy } = this.#context;
    const { entry } = worked;
    const current = await store.current(worked.resource.key);
    if (current?.uid !== worked.resource.uid) {
      this.#worked.delete(worked.resource.uid);
      return;
    }
    worked.resource = current;
    const isEdited = entry.seen !== seenOf(worked);
    if (!isBeingDeleted(current) && !isPaused(current)) {
      worked.resource = await store.addFinalizer(current);
    }
    const plan = planLocally(this.#context, worked.resource);
    if (plan.kind === "Release") {
      await this.#release(worked);
    } else if (plan.kind !== "Look") {
      // The memory is cleared, so that a read for another resource of the project does not make this resource due.
      entry.waitingSinceMs = undefined;
      entry.compared = undefined;
      await storeStep(this.#context, worked, plan);
      entry.dueAtMs = clock.monotonicMs() + policy.resyncMs;
    } else if (!isEdited && (await this.#isAtRest(worked))) {
      entry.dueAtMs = clock.monotonicMs() + secretCheckMs;
    } else {
      this.#looking.add(worked.resource.uid);
    }
  }

  /** Kubernetes shows no change since the last comparison, no resync is due, and nothing has failed since. */
  async #isAtRest({ resource, entry }: WorkedAccess): Promise<boolean> {
    const { monotonicMs, policy } = this.#context;
    const isCompared = entry.compared !== undefined && monotonicMs - entry.compared.atMs < policy.resyncMs;
    const isCurrent = resource.status.observedGeneration === resource.generation;
    const isOpen = isBeingDeleted(resource) || entry.failure !== undefined;
    return isCompared && isCurrent && !isOpen && (await isUnchangedInKubernetes(this.#context, resource));
  }

  /** It is due, its change waits and may be sent, or the snapshot or the operation log shows a change. */
  #needsLook(worked: WorkedAccess, { snapshot, operations, mayChange }: KindLook): boolean {
    const { resource, entry } = worked;
    if (this.#looking.has(resource.uid) || (entry.waitingSinceMs !== undefined && mayChange)) {
      return true;
    }
    const { compared, failure } = entry;
    if (compared === undefined || failure !== undefined || isBeingDeleted(resource)) {
      return false;
    }
    // While an operation locks the project, the snapshot can be older than a replica. Then a later one shows it.
    const shown = this.#boundEndpoint(worked, snapshot);
    const hasMoved = shown !== undefined && !isSameStored(shown, compared.endpoint);
    return hasMoved || configMarkOf(operations, compared.endpoint.branchId) !== compared.configMark;
  }

  /** `undefined`: Kubernetes or the snapshot does not show the endpoint. */
  #boundEndpoint({ resource }: WorkedAccess, snapshot: ProjectSnapshot): BoundEndpoint | undefined {
    const { findEndpoint, identity, endpoints } = this.#context;
    const reference = referenceOf(resource, findEndpoint, identity);
    const isWithReplicas = validSpecOf(resource)?.secret?.includeReplicas === true;
    const replicas = endpoints.filter(
      (each) => isWithReplicas && each.key.namespace === resource.key.namespace && isIdentityProven(each, identity),
    );
    return reference.kind === "Named" ? boundEndpoint(reference, snapshot, replicas) : undefined;
  }

  /** Decides again. A change that is still wanted keeps its place among those that wait. */
  async #decideAnew(worked: WorkedAccess, reader: BranchReader, look: KindLook): Promise<void> {
    const { entry, resource } = worked;
    const { waitingSinceMs = this.#context.monotonicMs } = entry;
    entry.waitingSinceMs = undefined;
    const decided = isBeingDeleted(resource)
      ? await this.#decideDeletion(worked, reader)
      : await this.#observeAndDecide(worked, reader, look);
    if (decided !== undefined) {
      this.#decided.set(resource.uid, decided);
      entry.waitingSinceMs = isWish(decided) ? waitingSinceMs : undefined;
    }
  }

  async #decideDeletion(worked: WorkedAccess, reader: BranchReader): Promise<Decided | undefined> {
    const object = await nextToDelete(this.#context, worked.resource, reader);
    if (object !== undefined) {
      return { kind: "Delete", object };
    }
    const waitMs = settleLeftMs(this.#context, worked.resource);
    if (waitMs > 0) {
      await storeStep(this.#context, worked, waits.deleting);
      worked.entry.dueAtMs = this.#context.monotonicMs + waitMs;
      return undefined;
    }
    return { kind: "Released" };
  }

  async #observeAndDecide(
    worked: WorkedAccess,
    reader: BranchReader,
    { snapshot, operations }: KindLook,
  ): Promise<Decided | undefined> {
    const { entry, resource } = worked;
    const { monotonicMs, policy, findEndpoint, identity } = this.#context;
    const spec = validSpecOf(resource);
    if (spec === undefined || referenceOf(resource, findEndpoint, identity).kind !== "Named") {
      return undefined;
    }
    const endpoint = this.#boundEndpoint(worked, snapshot);
    if (endpoint === undefined) {
      await storeStep(this.#context, worked, waits.endpoint(spec.endpointRef.name));
      entry.dueAtMs = monotonicMs + policy.operationPollMs;
      return undefined;
    }
    const observation = await observeAccess(this.#context, worked, { reader, operations, endpoint, spec });
    entry.compared = { endpoint, configMark: configMarkOf(operations, endpoint.branchId), atMs: monotonicMs };
    entry.failure = undefined;
    const plan = planAccess(observation);
    return isAccessMutation(plan) ? { kind: "Change", plan, observation } : { kind: "Rest", plan, observation };
  }

  async #storeDecided(worked: WorkedAccess): Promise<void> {
    const context = this.#context;
    const { resource, entry } = worked;
    const decided = this.#decided.get(resource.uid);
    switch (decided?.kind) {
      case undefined:
        return;
      case "Released":
        return this.#release(worked);
      case "Rest":
        await this.#storeRest(worked, decided);
        entry.dueAtMs = context.clock.monotonicMs() + this.#restMs(worked, decided.plan);
        return;
      default: {
        // The change was not sent: another change of the project came first, or an operation locks the project.
        const waitedMs = context.monotonicMs - (entry.waitingSinceMs ?? context.monotonicMs);
        const isQuiet = waitedMs < quietWaitMs || isTrue(resource.status.conditions, "Stalled");
        await storeStep(context, worked, isQuiet ? unchanged : waits.project);
        entry.dueAtMs = context.clock.monotonicMs() + quietWaitMs;
      }
    }
  }

  #storeRest(worked: WorkedAccess, { plan, observation }: Extract<Decided, { kind: "Rest" }>): Promise<void> {
    const context = this.#context;
    if (plan.kind === "WriteSecret") {
      return writeSecret(context, worked, observation, plan);
    }
    const records = recordsWith(worked.resource, context.identity, observation.objects);
    const changes = plan.kind === "Ready" ? settledChanges(context, observation) : { records };
    return storeStep(context, worked, plan, changes);
  }

  /** Returns the time until the resource is compared again. The comparison finds changes that other clients made. */
  #restMs({ resource }: WorkedAccess, plan: AccessPlan): number {
    const { policy, clock } = this.#context;
    if (plan.kind === "Progressing") {
      return policy.operationPollMs;
    }
    if (plan.kind === "Stalled") {
      return secretCheckMs;
    }
    return Math.max(0, Math.min(secretCheckMs, rotationDueMs(this.#context, resource) - clock.nowMs()));
  }

  async #release(worked: WorkedAccess): Promise<void> {
    await releaseResource(this.#context, worked);
    this.#worked.delete(worked.resource.uid);
  }
}

function isAtWork({ resource, entry }: WorkedAccess): boolean {
  const { conditions, observedGeneration } = resource.status;
  return (
    entry.waitingSinceMs !== undefined ||
    isBeingDeleted(resource) ||
    observedGeneration !== resource.generation ||
    isRotationAsked(resource) ||
    (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"))
  );
}

function inTurns(resources: readonly WorkedAccess[]): readonly WorkedAccess[] {
  const sinceMs = ({ entry }: WorkedAccess) => entry.waitingSinceMs ?? Number.POSITIVE_INFINITY;
  const byAge = [...resources].sort((a, b) => (sinceMs(a) < sinceMs(b) ? -1 : Number(sinceMs(a) > sinceMs(b))));
  return byTurns([...Map.groupBy(byAge, ({ resource }) => resource.key.namespace).values()]);
}

function isWish(decided: Decided): decided is Wish {
  return decided.kind === "Change" || decided.kind === "Delete";
}
