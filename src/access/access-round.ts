/** One reconcile of the DatabaseAccesses of a project. */

import type { WaitingChange } from "../decide/choose-mutation.ts";
import { isIdentityProven } from "../decide/identity.ts";
import { pollDelayMs, waitingForProjectMessage } from "../decide/plan.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { inParallel } from "../reconcile/in-parallel.ts";
import type { KindChange, KindLook, KindRound, KindRoundStart, KindSent } from "../reconcile/project-kind.ts";
import { isBeingDeleted, isPaused } from "../resource/compute-endpoint.ts";
import { isTrue } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { type AccessContext, secretCheckMs } from "./access-context.ts";
import type { AccessObservation, EndpointReference, WorkedAccess } from "./access-observation.ts";
import { observedObjects, recordsWith } from "./access-records.ts";
import { nextRelease, releaseResource } from "./access-release.ts";
import { type AccessSummary, progressing, stalled, summaryOfAccessFailure } from "./access-status.ts";
import { type AccessStep, guardedStep, settledChanges, storeFailure, storeStep, writeSecret } from "./access-steps.ts";
import { boundEndpoint, referenceOf } from "./endpoint-reference.ts";
import * as messages from "./messages.ts";
import { BranchReader, configMarkOf, isUnchangedInKubernetes, observeAccess } from "./observe-access.ts";
import {
  type AccessMutation,
  type AccessPlan,
  isAccessMutation,
  isRotationAsked,
  planAccess,
  rotationDueMs,
} from "./plan-access.ts";
import { planLocally } from "./plan-locally.ts";
import { sendWish, type Wish } from "./send-access-change.ts";

/** The maximum number of resources of one project that are worked on at the same time. */
const atOnce = 4;
/** The maximum number of waiting resources that one reconcile decides again. */
const waitingLimit = 20;
/** A resource whose change waits reports that after this many milliseconds. */
const quietWaitMs = 5_000;

/** A plan that changes nothing in the control plane. */
type RestingPlan = Exclude<AccessPlan, AccessMutation>;

type Decided =
  | Wish
  /** Nothing is sent to the control plane. */
  | { readonly kind: "Rest"; readonly plan: RestingPlan; readonly observation: AccessObservation }
  | { readonly kind: "Released" };

/** The DatabaseAccesses of one project in one reconcile. */
export class AccessRound implements KindRound {
  readonly #context: AccessContext;
  readonly #start: KindRoundStart;
  readonly #worked: Map<string, WorkedAccess>;
  /** Uids of the resources that must be compared with the control plane. */
  readonly #looking = new Set<string>();
  readonly #decided = new Map<string, Decided>();

  constructor(context: AccessContext, start: KindRoundStart, worked: readonly WorkedAccess[]) {
    this.#context = context;
    this.#start = start;
    this.#worked = new Map(worked.map((each) => [each.resource.uid, each]));
  }

  get size(): number {
    return this.#worked.size;
  }

  async settleLocally(): Promise<void> {
    await this.#forEach(
      (each) => this.#isDue(each),
      (worked) => this.#settleOne(worked),
    );
  }

  wantsLook(): boolean {
    return this.#looking.size > 0;
  }

  urgentNamespace(): string | undefined {
    const isUrgent = (worked: WorkedAccess) =>
      this.#looking.has(worked.resource.uid) || worked.entry.waiting !== undefined;
    return [...this.#worked.values()].find((worked) => isUrgent(worked) && isAtWork(worked))?.resource.key.namespace;
  }

  isWaiting(): boolean {
    return [...this.#worked.values()].some(({ entry }) => entry.waiting !== undefined);
  }

  async look(look: KindLook): Promise<void> {
    const reader = new BranchReader(look.objects);
    const wanted = [...this.#worked.values()].filter((worked) => this.#needsLook(worked, look));
    const chosen = new Set(wanted.slice(0, Math.max(waitingLimit, this.#looking.size)));
    await this.#forEach(
      (each) => chosen.has(each),
      async (worked) => {
        try {
          await this.#decide(worked, reader, look);
        } catch (error) {
          if (!(error instanceof ControlPlaneError)) {
            throw error;
          }
          await storeFailure(this.#context, worked, error);
        }
      },
    );
  }

  wishes(): readonly WaitingChange[] {
    const nowMs = this.#start.monotonicMs;
    return [...this.#decided].flatMap(([uid, decided]) => {
      const worked = this.#worked.get(uid);
      if (worked === undefined || !isWish(decided)) {
        return [];
      }
      const { entry, resource } = worked;
      const urgency = decided.kind === "Release" ? "Deletion" : "Other";
      const sinceMs = entry.waiting?.sinceMs ?? nowMs;
      entry.waiting = { sinceMs, urgency };
      return [{ uid, namespace: resource.key.namespace, urgency, sinceMs }];
    });
  }

  async change(uid: string, change: KindChange): Promise<KindSent> {
    const worked = this.#worked.get(uid);
    const decided = this.#decided.get(uid);
    let sent: KindSent = { kind: "Outdated" };
    if (worked !== undefined && decided !== undefined && isWish(decided)) {
      await guardedStep(this.#context, worked, async () => {
        worked.entry.dueAtMs = this.#start.monotonicMs;
        sent = await sendWish(this.#context, worked, decided, change);
      });
    }
    return sent;
  }

  async settle(changedUid: string | undefined): Promise<void> {
    await this.#forEach(
      ({ resource: { uid } }) => uid !== changedUid && this.#decided.has(uid),
      (worked) => this.#settleDecided(worked),
    );
  }

  async fail(error: ControlPlaneError, forMs: number): Promise<void> {
    await this.#forEach(
      ({ resource }) => this.#looking.has(resource.uid),
      async (worked) => {
        await this.#store(worked, summaryOfAccessFailure(worked.resource, error, forMs));
        worked.entry.isOwedLook = true;
        worked.entry.dueAtMs = Number.POSITIVE_INFINITY;
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
    await inParallel([...this.#worked.values()].filter(isChosen), atOnce, (worked) =>
      guardedStep(this.#context, worked, () => work(worked)),
    );
  }

  #store(worked: WorkedAccess, summary: AccessSummary): Promise<void> {
    return storeStep(this.#context, worked, { summary });
  }

  #isDue({ resource, entry, hasMoved }: WorkedAccess): boolean {
    const isResync = this.#start.monotonicMs - entry.comparedAtMs >= this.#context.policy.resyncMs;
    const isAsked = entry.version !== resource.resourceVersion || hasMoved;
    return isAsked || entry.dueAtMs <= this.#start.monotonicMs || (isResync && Number.isFinite(entry.comparedAtMs));
  }

  /**
   * Whether this reconcile compares the resource with the control plane: it is due, its change waits and may be sent,
   * or the snapshot or the operation log shows a change.
   */
  #needsLook({ resource, entry }: WorkedAccess, { snapshot, operations, mayChange }: KindLook): boolean {
    if (this.#looking.has(resource.uid) || entry.isOwedLook || (entry.waiting !== undefined && mayChange)) {
      return true;
    }
    const { compared, failure } = entry;
    if (compared === undefined || failure !== undefined || isBeingDeleted(resource)) {
      return false;
    }
    const shown = snapshot.endpoints.get(compared.endpointId);
    const hasMoved = shown !== undefined && (shown.branchId !== compared.branchId || shown.host !== compared.host);
    return hasMoved || configMarkOf(operations, compared.branchId) !== entry.configMark;
  }

  async #settleOne(worked: WorkedAccess): Promise<void> {
    const { store, clock } = this.#context;
    const { entry } = worked;
    const current = await store.current(worked.resource.key);
    if (current?.uid !== worked.resource.uid) {
      this.#worked.delete(worked.resource.uid);
      return;
    }
    const isEdited = entry.version !== current.resourceVersion;
    worked.resource = current;
    if (!isBeingDeleted(current) && !isPaused(current)) {
      worked.resource = await store.addFinalizer(current);
    }
    const plan = planLocally(this.#context, this.#start, worked.resource);
    if (plan.kind === "Release") {
      await this.#release(worked);
    } else if (plan.kind === "Store") {
      // A read for another resource of the project does not make this resource due.
      entry.waiting = undefined;
      entry.isOwedLook = false;
      entry.compared = undefined;
      await this.#store(worked, plan.summary);
      entry.dueAtMs = Number.POSITIVE_INFINITY;
    } else if (!isEdited && (await this.#isAtRest(worked))) {
      entry.dueAtMs = clock.monotonicMs() + secretCheckMs;
    } else {
      this.#looking.add(worked.resource.uid);
    }
  }

  #referenceOf(resource: DatabaseAccess): EndpointReference {
    const { endpoints, identity } = this.#context;
    return referenceOf(resource, (key) => endpoints.get(key), identity);
  }

  async #release(worked: WorkedAccess): Promise<void> {
    await releaseResource(this.#context, worked);
    this.#worked.delete(worked.resource.uid);
  }

  /**
   * Whether the resource needs no comparison with the control plane: Kubernetes shows no change since the last one, no
   * resync is due, and nothing has failed since.
   */
  async #isAtRest(worked: WorkedAccess): Promise<boolean> {
    const { resource, entry, hasMoved } = worked;
    const { policy } = this.#context;
    const isCompared = this.#start.monotonicMs - entry.comparedAtMs < policy.resyncMs;
    const isCurrent = resource.status.observedGeneration === resource.generation;
    const isOpen = isBeingDeleted(resource) || entry.isOwedLook || entry.failure !== undefined;
    return !hasMoved && isCompared && isCurrent && !isOpen && (await isUnchangedInKubernetes(this.#context, resource));
  }

  async #decide(worked: WorkedAccess, reader: BranchReader, { snapshot, operations }: KindLook): Promise<void> {
    const { entry, resource } = worked;
    entry.waiting = undefined;
    entry.isOwedLook = false;
    if (isBeingDeleted(resource)) {
      const plan = await nextRelease(this.#context, worked, reader);
      this.#decided.set(resource.uid, plan === undefined ? { kind: "Released" } : { kind: "Release", plan });
      return;
    }
    const reference = this.#referenceOf(resource);
    if (reference.kind !== "Named" || resource.spec.kind !== "Valid") {
      return;
    }
    const { spec } = resource.spec;
    const { namespace } = resource.key;
    const { identity } = this.#context;
    const siblings = this.#start.endpoints.filter(
      (sibling) => sibling.key.namespace === namespace && isIdentityProven(sibling, identity),
    );
    const endpoint = boundEndpoint(reference, snapshot, spec.secret?.includeReplicas === true ? siblings : []);
    if (endpoint === undefined) {
      const message = messages.waitingForEndpoint(spec.endpointRef.name);
      await this.#store(worked, progressing("WaitingForEndpoint", message));
      entry.dueAtMs = this.#start.monotonicMs + this.#context.policy.operationPollMs;
      return;
    }
    const observation = await observeAccess(this.#context, worked, { reader, operations, endpoint, spec });
    entry.configMark = configMarkOf(operations, endpoint.branchId);
    entry.compared = { endpointId: endpoint.endpointId, branchId: endpoint.branchId, host: endpoint.hosts.host };
    entry.comparedAtMs = this.#start.monotonicMs;
    entry.failure = undefined;
    const plan = planAccess(observation);
    this.#decided.set(
      resource.uid,
      isAccessMutation(plan) ? { kind: "Change", plan, observation } : { kind: "Rest", plan, observation },
    );
  }

  async #settleDecided(worked: WorkedAccess): Promise<void> {
    const { clock } = this.#context;
    const decided = this.#decided.get(worked.resource.uid);
    if (decided === undefined) {
      return;
    }
    if (decided.kind === "Released") {
      await this.#release(worked);
      return;
    }
    if (isWish(decided)) {
      await this.#storeWait(worked);
      worked.entry.dueAtMs = clock.monotonicMs() + quietWaitMs;
      return;
    }
    await storeStep(this.#context, worked, await this.#stepOf(worked, decided.plan, decided.observation));
    worked.entry.dueAtMs = clock.monotonicMs() + this.#restMs(worked, decided.plan);
  }

  async #stepOf(worked: WorkedAccess, plan: RestingPlan, observation: AccessObservation): Promise<AccessStep> {
    const context = this.#context;
    const records = recordsWith(worked.resource, context.identity, observedObjects(observation));
    switch (plan.kind) {
      case "WriteSecret":
        return await writeSecret(context, worked, observation, plan);
      case "Settled":
        return { summary: { kind: "Ready" }, changes: settledChanges(context, observation) };
      case "Wait":
        return { summary: progressing(plan.reason, plan.message), changes: { records } };
      case "Stall":
        return { summary: stalled(plan.reason, plan.message), changes: { records } };
    }
  }

  /** Returns the time until the resource is compared again. The comparison finds changes that other clients made. */
  #restMs({ resource, entry }: WorkedAccess, plan: RestingPlan): number {
    const { policy, clock } = this.#context;
    if (plan.kind === "Wait") {
      return plan.waitMs ?? pollDelayMs(clock.monotonicMs() - entry.changedAtMs, policy);
    }
    const spec = resource.spec.kind === "Valid" ? resource.spec.spec : undefined;
    const rotationMs = (rotationDueMs(resource, spec?.password?.rotateAfterSeconds) ?? Infinity) - clock.nowMs();
    return Math.max(0, Math.min(secretCheckMs, rotationMs));
  }

  async #storeWait(worked: WorkedAccess): Promise<void> {
    const { entry, resource } = worked;
    const waitedMs = this.#start.monotonicMs - (entry.waiting?.sinceMs ?? this.#start.monotonicMs);
    const isQuiet = waitedMs < quietWaitMs || isTrue(resource.status.conditions, "Stalled");
    const summary: AccessSummary = isQuiet
      ? { kind: "Unchanged" }
      : progressing("WaitingForProject", waitingForProjectMessage);
    await this.#store(worked, summary);
  }
}

/**
 * Whether a resource has unfinished work: its change waits, it is being deleted, a person asked for something, or it is
 * neither Ready nor Stalled.
 */
function isAtWork({ resource, entry }: WorkedAccess): boolean {
  const { conditions, observedGeneration } = resource.status;
  return (
    entry.waiting !== undefined ||
    isBeingDeleted(resource) ||
    observedGeneration !== resource.generation ||
    isRotationAsked(resource) ||
    (!isTrue(conditions, "Ready") && !isTrue(conditions, "Stalled"))
  );
}

function isWish(decided: Decided): decided is Wish {
  return decided.kind === "Change" || decided.kind === "Release";
}
