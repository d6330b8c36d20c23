import type { WaitingChange } from "../decide/choose-mutation.ts";
import { isIdentityProven } from "../decide/identity.ts";
import { notGrantedMessage } from "../decide/project-grant.ts";
import { pollDelayMs } from "../decide/waiting.ts";
import { ControlPlaneError } from "../domain/control-plane-error.ts";
import { inParallel } from "../reconcile/in-parallel.ts";
import type { KindChange, KindLook, KindRound, KindRoundStart, KindSent } from "../reconcile/project-kind.ts";
import { isTrue } from "../resource/conditions.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import { annotations, databaseAccessNames } from "../resource/names.ts";
import { parseProjectKey } from "../resource/project-key.ts";
import { type AccessContext, secretCheckMs } from "./access-context.ts";
import type { WorkedAccess } from "./access-memory.ts";
import type { AccessObservation, EndpointReference } from "./access-observation.ts";
import { observedObjects, recordsWith } from "./access-records.ts";
import { doomedObjects, nextRelease, releaseResource } from "./access-release.ts";
import { type AccessSummary, summaryOfAccessFailure } from "./access-status.ts";
import { type AccessStep, guardedStep, noteFailure, settledChanges, storeStep, writeSecret } from "./access-steps.ts";
import { isUnchangedInKubernetes } from "./at-rest.ts";
import { boundEndpoint, referenceOf } from "./endpoint-reference.ts";
import * as messages from "./messages.ts";
import { BranchReader, configMarkOf, observeAccess } from "./observe-access.ts";
import { type AccessMutation, type AccessPlan, isAccessMutation, planAccess, rotationDueMs } from "./plan-access.ts";
import type { ReleaseMutation } from "./plan-release.ts";
import { recordStandingOf, recordsElsewhere } from "./record-standing.ts";
import { type DecidedChange, prepareChange, sendAccessChange, sendRelease } from "./send-access-change.ts";

/** The maximum number of resources of one project that are worked on at the same time. */
const atOnce = 4;
/** The maximum number of waiting resources that one reconcile decides again. */
const waitingLimit = 20;
/** A resource whose change waits reports that after this many milliseconds. */
const quietWaitMs = 5_000;

type Decided =
  | { readonly kind: "Access"; readonly plan: AccessPlan; readonly observation: AccessObservation }
  | { readonly kind: "Release"; readonly plan: ReleaseMutation }
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
    const due = [...this.#worked.values()].filter((each) => this.#isDue(each));
    await inParallel(due, atOnce, async (worked) => {
      await guardedStep(this.#context, worked, () => this.#settleOne(worked));
    });
  }

  wantsLook(): boolean {
    return this.#looking.size > 0;
  }

  isWaiting(): boolean {
    return [...this.#worked.values()].some(({ entry }) => entry.waiting !== undefined);
  }

  async look(look: KindLook): Promise<void> {
    const reader = new BranchReader(look.objects);
    const wanted = [...this.#worked.values()].filter((worked) => this.#needsLook(worked, look));
    await inParallel(wanted.slice(0, Math.max(waitingLimit, this.#looking.size)), atOnce, async (worked) => {
      await guardedStep(this.#context, worked, async () => {
        try {
          await this.#decide(worked, reader, look);
        } catch (error) {
          if (!(error instanceof ControlPlaneError)) {
            throw error;
          }
          await this.#storeFailure(worked, error);
        }
      });
    });
  }

  wishes(): readonly WaitingChange[] {
    const nowMs = this.#start.monotonicMs;
    return [...this.#decided].flatMap(([uid, decided]) => {
      const worked = this.#worked.get(uid);
      const isMutation = decided.kind === "Release" || (decided.kind === "Access" && isAccessMutation(decided.plan));
      if (worked === undefined || !isMutation) {
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
    if (worked !== undefined && decided !== undefined && decided.kind !== "Released") {
      await guardedStep(this.#context, worked, async () => {
        worked.entry.waiting = undefined;
        worked.entry.dueAtMs = this.#start.monotonicMs;
        sent = await this.#send(worked, decided, change);
      });
    }
    return sent;
  }

  async settle(changedUid: string | undefined): Promise<void> {
    const others = [...this.#decided].filter(([uid]) => uid !== changedUid);
    await inParallel(others, atOnce, async ([uid, decided]) => {
      const worked = this.#worked.get(uid);
      if (worked !== undefined) {
        await guardedStep(this.#context, worked, () => this.#settleDecided(worked, decided));
      }
    });
  }

  async fail(error: ControlPlaneError, forMs: number): Promise<void> {
    const due = [...this.#worked.values()].filter(({ resource }) => this.#looking.has(resource.uid));
    await inParallel(due, atOnce, async (worked) => {
      await guardedStep(this.#context, worked, async () => {
        await storeStep(this.#context, worked, { summary: summaryOfAccessFailure(worked.resource, error, forMs) });
        worked.entry.isOwedLook = true;
        worked.entry.dueAtMs = Number.POSITIVE_INFINITY;
      });
    });
  }

  nextDueMs(): number {
    const dues = [...this.#worked.values()].map(({ entry }) => entry.dueAtMs);
    return dues.reduce((first, each) => Math.min(first, each), Number.POSITIVE_INFINITY);
  }

  #isDue({ resource, entry, hasMoved }: WorkedAccess): boolean {
    const isResync = this.#start.monotonicMs - entry.comparedAtMs >= this.#context.policy.resyncMs;
    const isAsked = entry.version !== resource.resourceVersion || hasMoved;
    return isAsked || entry.dueAtMs <= this.#start.monotonicMs || (isResync && Number.isFinite(entry.comparedAtMs));
  }

  /** Whether this reconcile compares the resource with the control plane: it is due, or the snapshot shows a change. */
  #needsLook({ resource, entry }: WorkedAccess, { snapshot, operations, mayChange }: KindLook): boolean {
    if (this.#looking.has(resource.uid) || entry.isOwedLook || (entry.waiting !== undefined && mayChange)) {
      return true;
    }
    const { compared, failure } = entry;
    if (compared === undefined || failure !== undefined || resource.deletionTimestamp !== undefined) {
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
    if (current.deletionTimestamp === undefined && current.annotations[annotations.paused] !== "true") {
      worked.resource = await store.addFinalizer(current);
    }
    const step = await this.#localStep(worked);
    if (!this.#worked.has(worked.resource.uid)) {
      return;
    }
    if (step !== undefined) {
      // Until the resource is due again, a look at the project for another resource does not concern it.
      entry.waiting = undefined;
      entry.isOwedLook = false;
      entry.compared = undefined;
      await storeStep(this.#context, worked, step);
      entry.dueAtMs = Number.POSITIVE_INFINITY;
    } else if (!isEdited && (await this.#isAtRest(worked))) {
      entry.dueAtMs = clock.monotonicMs() + secretCheckMs;
    } else {
      this.#looking.add(worked.resource.uid);
    }
  }

  /** Returns the step that needs no control plane; `undefined`: a step needs the control plane. */
  async #localStep(worked: WorkedAccess): Promise<AccessStep | undefined> {
    const { resource } = worked;
    if (resource.annotations[annotations.paused] === "true") {
      return { summary: { kind: "Paused" } };
    }
    if (resource.deletionTimestamp !== undefined) {
      return this.#localDeletion(worked);
    }
    if (resource.spec.kind === "Invalid") {
      const message = `The stored spec is not valid: ${resource.spec.problems}. Apply a corrected spec.`;
      return { summary: { kind: "Stalled", reason: "InvalidSpec", message } };
    }
    const { name } = resource.spec.spec.endpointRef;
    const unusable = this.#problemStep();
    if (unusable !== undefined) {
      // Without a grant, the resource shows the same whether the control plane exists or not.
      return this.#grantStep(resource, parseProjectKey(this.#start.key).projectId) ?? unusable;
    }
    const reference = this.#referenceOf(resource);
    switch (reference.kind) {
      case "NotFound":
        return {
          summary: { kind: "Progressing", reason: "EndpointNotFound", message: messages.endpointNotFound(name) },
        };
      case "Waiting":
        return {
          summary: { kind: "Progressing", reason: "WaitingForEndpoint", message: messages.waitingForEndpoint(name) },
        };
      case "Unproven":
        return { summary: { kind: "Stalled", reason: "IdentityUnproven", message: messages.endpointUnproven(name) } };
      case "Named":
        return this.#standingStep(resource) ?? this.#grantStep(resource, reference.projectId);
    }
  }

  /**
   * Returns the step of a resource whose control plane cannot be used: nothing is read or changed, and the Secret
   * stays.
   */
  #problemStep(): AccessStep | undefined {
    const { problem } = this.#start;
    return problem && { summary: { kind: "Stalled", ...problem } };
  }

  /** Without a grant nothing is read or changed; the Secret stays as it is. */
  #grantStep({ key: { namespace } }: DatabaseAccess, projectId: string): AccessStep | undefined {
    if (this.#context.grantOf(namespace, projectId).mayChange) {
      return undefined;
    }
    const message = notGrantedMessage(namespace, projectId, "change");
    return { summary: { kind: "Stalled", reason: "ProjectNotGranted", message } };
  }

  #referenceOf(resource: DatabaseAccess): EndpointReference {
    const { endpoints, identity } = this.#context;
    return referenceOf(resource, (key) => endpoints.get(key), identity);
  }

  async #localDeletion(worked: WorkedAccess): Promise<AccessStep | undefined> {
    const { resource } = worked;
    if (!resource.finalizers.includes(databaseAccessNames.finalizer)) {
      return { summary: { kind: "Unchanged" } };
    }
    const doomed = doomedObjects(this.#context, worked);
    if (doomed.length === 0) {
      await this.#release(worked);
      return undefined;
    }
    const unusable = this.#problemStep() ?? this.#standingStep(resource);
    if (unusable !== undefined) {
      return unusable;
    }
    const { namespace } = resource.key;
    const refused = doomed.find(
      ({ origin, projectId }) => origin !== "Created" && !this.#context.grantOf(namespace, projectId).mayAdopt,
    );
    if (refused !== undefined) {
      const message = notGrantedMessage(namespace, refused.projectId, "deleteAdopted");
      return { summary: { kind: "Stalled", reason: "ProjectNotGranted", message } };
    }
    return undefined;
  }

  /** While the records name another control plane or URL, nothing is read or changed: their objects are not here. */
  #standingStep(resource: DatabaseAccess): AccessStep | undefined {
    return recordStandingOf(resource, this.#context.identity) === "OtherPlane"
      ? { summary: { kind: "Stalled", reason: "IdentityUnproven", message: recordsElsewhere(resource) } }
      : undefined;
  }

  async #release(worked: WorkedAccess): Promise<void> {
    await releaseResource(this.#context, worked);
    this.#worked.delete(worked.resource.uid);
  }

  /** Whether Kubernetes shows no change since the last comparison with the control plane. */
  async #isAtRest(worked: WorkedAccess): Promise<boolean> {
    const { resource, entry, hasMoved } = worked;
    const { policy } = this.#context;
    const isCompared = this.#start.monotonicMs - entry.comparedAtMs < policy.resyncMs;
    const isCurrent = resource.status.observedGeneration === resource.generation;
    const isOpen = resource.deletionTimestamp !== undefined || entry.isOwedLook || entry.failure !== undefined;
    return !hasMoved && isCompared && isCurrent && !isOpen && (await isUnchangedInKubernetes(this.#context, resource));
  }

  async #decide(worked: WorkedAccess, reader: BranchReader, { snapshot, operations }: KindLook): Promise<void> {
    const { entry, resource } = worked;
    entry.waiting = undefined;
    entry.isOwedLook = false;
    if (resource.deletionTimestamp !== undefined) {
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
      await storeStep(this.#context, worked, {
        summary: { kind: "Progressing", reason: "WaitingForEndpoint", message },
      });
      entry.dueAtMs = this.#start.monotonicMs + this.#context.policy.operationPollMs;
      return;
    }
    const observation = await observeAccess(this.#context, worked, { reader, operations, endpoint, spec });
    entry.configMark = configMarkOf(operations, endpoint.branchId);
    entry.compared = { endpointId: endpoint.endpointId, branchId: endpoint.branchId, host: endpoint.hosts.host };
    entry.comparedAtMs = this.#start.monotonicMs;
    entry.failure = undefined;
    this.#decided.set(resource.uid, { kind: "Access", plan: planAccess(observation), observation });
  }

  async #settleDecided(worked: WorkedAccess, decided: Decided): Promise<void> {
    const { clock } = this.#context;
    if (decided.kind === "Released") {
      await this.#release(worked);
      return;
    }
    if (decided.kind === "Release" || isAccessMutation(decided.plan)) {
      await this.#storeWait(worked);
      worked.entry.dueAtMs = clock.monotonicMs() + quietWaitMs;
      return;
    }
    await storeStep(this.#context, worked, await this.#stepOf(worked, decided.plan, decided.observation));
    worked.entry.dueAtMs = clock.monotonicMs() + this.#restMs(worked, decided.plan);
  }

  async #stepOf(
    worked: WorkedAccess,
    plan: Exclude<AccessPlan, AccessMutation>,
    observation: AccessObservation,
  ): Promise<AccessStep> {
    const context = this.#context;
    const records = recordsWith(worked.resource, context.identity, observedObjects(observation));
    switch (plan.kind) {
      case "WriteSecret":
        return await writeSecret(context, worked, observation, plan);
      case "Settled":
        return { summary: { kind: "Ready" }, changes: settledChanges(context, observation) };
      case "Wait":
        return { summary: { kind: "Progressing", reason: plan.reason, message: plan.message }, changes: { records } };
      case "Stall":
        return { summary: { kind: "Stalled", reason: plan.reason, message: plan.message }, changes: { records } };
    }
  }

  /** Returns the time until the resource is compared again. The comparison finds changes that other clients made. */
  #restMs({ resource, entry }: WorkedAccess, plan: AccessPlan): number {
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
      : {
          kind: "Progressing",
          reason: "WaitingForProject",
          message: "Waiting until other changes of the project have ended.",
        };
    await storeStep(this.#context, worked, { summary });
  }

  async #storeFailure(worked: WorkedAccess, error: ControlPlaneError, decided?: Decided): Promise<number> {
    const retryAtMs = noteFailure(this.#context, worked, error);
    const refusedRole = refusedRoleOf(decided, error);
    if (refusedRole !== undefined) {
      const message = messages.roleInUse(refusedRole, error.message);
      await storeStep(this.#context, worked, { summary: { kind: "Stalled", reason: "RoleInUse", message } });
      return retryAtMs;
    }
    const forMs = this.#context.clock.monotonicMs() - (worked.entry.failure?.sinceMs ?? 0);
    await storeStep(this.#context, worked, { summary: summaryOfAccessFailure(worked.resource, error, forMs) });
    return retryAtMs;
  }

  async #send(
    worked: WorkedAccess,
    decided: Exclude<Decided, { kind: "Released" }>,
    change: KindChange,
  ): Promise<KindSent> {
    const { namespace } = worked.resource.key;
    try {
      await change.reserve();
      if (!change.isCurrent()) {
        return { kind: "Outdated" };
      }
      worked.entry.changedAtMs = this.#context.clock.monotonicMs();
      if (decided.kind === "Release") {
        const operations = await sendRelease(this.#context, worked, decided.plan, change.objects);
        await storeStep(this.#context, worked, {
          summary: { kind: "Progressing", reason: "Deleting", message: messages.deleting },
        });
        return { kind: "Accepted", namespace, operations };
      }
      return await this.#sendAccess(worked, decided.plan as AccessMutation, decided.observation, change);
    } catch (error) {
      if (!(error instanceof ControlPlaneError)) {
        throw error;
      }
      return { kind: "Failed", error, retryAtMs: await this.#storeFailure(worked, error, decided) };
    }
  }

  /** Whether the resource still has its grant, which may have been withdrawn while its change waited. */
  #isGranted({ resource }: WorkedAccess, { endpoint }: AccessObservation): boolean {
    return this.#context.grantOf(resource.key.namespace, endpoint.projectId).mayChange;
  }

  async #sendAccess(
    worked: WorkedAccess,
    plan: AccessMutation,
    observation: AccessObservation,
    { objects }: KindChange,
  ): Promise<KindSent> {
    const change: DecidedChange = { plan, observation };
    if (!(await prepareChange(this.#context, worked, change)) || !this.#isGranted(worked, observation)) {
      return { kind: "Outdated" };
    }
    const { operations, step } = await sendAccessChange(this.#context, worked, change, objects);
    worked.entry.failure = undefined;
    await storeStep(this.#context, worked, step);
    return { kind: "Accepted", namespace: worked.resource.key.namespace, operations };
  }
}

/** Returns the name of the role that the control plane refuses to delete, because the role owns something. */
function refusedRoleOf(decided: Decided | undefined, { reason }: ControlPlaneError): string | undefined {
  const isRole = decided?.kind === "Release" && decided.plan.kind === "DeleteRole";
  return isRole && (reason === "Rejected" || reason === "Conflict") ? decided.plan.object.name : undefined;
}
