/** The step "store" of a reconcile: writes the status of one resource, and sets when it is due again. */
import { nextReportMs } from "../decide/call-failures.ts";
import { releaseEvents } from "../decide/events-for.ts";
import type { ResourceStep } from "../decide/observation.ts";
import type { PlanOf } from "../decide/plan.ts";
import { rulesOf } from "../decide/plan-table.ts";
import { answeredOperations, latestEndpoint, recordsAfter, statusFor } from "../decide/status-for.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { countStored } from "../operations/counting.ts";
import { type LogSubject, type OperationLogStep, reduceOperations } from "../operations/reduce-operations.ts";
import type { OperationsSnapshot } from "../operations/snapshot.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { hasMoved } from "./in-parallel.ts";
import type { ReconcileContext } from "./ports.ts";
import { type ResourceEntry, remember } from "./project-memory.ts";
import { countedField, publish, reportStep, resourceFields, type StoredStep, traceStep } from "./report.ts";
import type { Round, WorkedResource } from "./round.ts";

/**
 * After these milliseconds, a resource whose change waits reports the wait in its status: `first` if it has no status
 * yet, else `later`.
 */
const waitReportMs = { first: 20_000, later: 5_000 };

export interface StepToStore {
  readonly worked: WorkedResource;
  readonly step: ResourceStep;
  /** @default the operation log was not read */
  readonly operations?: OperationsSnapshot;
}

/** If the plan removes the finalizer, it removes the finalizer and stores no status. @throws KubernetesError */
export async function storeStep(context: ReconcileContext, round: Round, toStore: StepToStore): Promise<void> {
  const { worked, step } = toStore;
  const { entry } = worked;
  const { resource } = step.local;
  traceStep(context, step);
  if (step.plan?.kind === "RemoveFinalizer" && step.outcome.kind === "NothingSent") {
    await release(context, round, { ...toStore, plan: step.plan });
    return;
  }
  const stored = await storeStatus(context.store, toStore);
  if (stored === undefined) {
    // The resource is gone or replaced. The watch reports that soon.
    entry.dueAtMs = 0;
    return;
  }
  entry.version = stored.resourceVersion;
  entry.storeFailures = 0;
  forgetStored(worked, stored);
  countStored(context, entry.pending, { ...resource, status: stored.status });
  reportStep(context, stored);
  if (hasNewStanding(resource.status, stored.status)) {
    round.wakeWaiting();
  }
  entry.dueAtMs = dueAtMs(context, worked, stored);
}

/**
 * Removes from memory what the stored status makes unnecessary: the answer to a create. It also forgets the last failure
 * if a change was accepted or the plan ends failures.
 */
function forgetStored({ entry }: WorkedResource, { status, step }: StoredStep): void {
  if (status.ownership !== undefined) {
    remember(entry, { answeredCreate: undefined });
  }
  const isWorking =
    step.outcome.kind === "Accepted" ||
    (step.outcome.kind === "NothingSent" && step.plan !== undefined && rulesOf(step.plan).endsFailures);
  if (isWorking && entry.memory.failure !== undefined) {
    remember(entry, { failure: undefined });
  }
}

function dueAtMs({ clock, policy }: ReconcileContext, { entry }: WorkedResource, { step }: StoredStep): number {
  const nowMs = clock.monotonicMs();
  switch (step.outcome.kind) {
    case "Failed":
      return Math.min(
        entry.memory.failure?.retryAtMs ?? Number.POSITIVE_INFINITY,
        nowMs + nextReportMs(step.outcome.forMs),
      );
    case "Deferred": {
      const isNew = step.local.resource.status.conditions === undefined;
      return nowMs + (isNew ? waitReportMs.first : waitReportMs.later);
    }
    default: {
      const delayMs = step.plan && rulesOf(step.plan).nextLookMs(step.plan, step.outcome, policy);
      return delayMs === undefined ? Number.POSITIVE_INFINITY : nowMs + delayMs;
    }
  }
}

async function release(
  context: ReconcileContext,
  round: Round,
  { worked, step, operations, plan }: StepToStore & { readonly plan: PlanOf<"RemoveFinalizer"> },
): Promise<void> {
  const { resource } = step.local;
  const { state, ended } = reduceOperations(resource.status, operations, subjectOf(step));
  let current = resource;
  if (ended.length > 0) {
    addPending(worked.entry, ended);
    const { operationWatermark } = state;
    current = await context.store.patchStatus(resource, { ...resource.status, operationWatermark });
    countStored(context, worked.entry.pending, current);
  }
  publish(context, resource, releaseEvents(plan, resource.status));
  await context.store.removeFinalizer(current);
  if (context.store.get(resource.key) === undefined) {
    context.metrics.forgetResource(resource.key);
  }
  round.project.resources.delete(resource.uid);
  round.leaveOut(worked);
  round.wakeWaiting();
  const endpointId = resource.status.ownership?.endpointId;
  const fields = {
    ...resourceFields(resource),
    endpointId,
    plan: plan.kind,
    cause: plan.cause,
    ...countedField(ended),
  };
  context.logger.info(fields, "finalizer removed");
}

/** Whether the new status may change the decisions about other resources. */
function hasNewStanding(before: ComputeEndpointStatus, next: ComputeEndpointStatus): boolean {
  const reasonOfType = (status: ComputeEndpointStatus, type: "Ready" | "Stalled") =>
    conditionOf(status.conditions, type)?.reason;
  return (
    reasonOfType(before, "Stalled") !== reasonOfType(next, "Stalled") ||
    before.ownership?.endpointId !== next.ownership?.endpointId ||
    before.createIntent?.attempt !== next.createIntent?.attempt
  );
}

/** The maximum number of attempts to store the answer to a create, if each attempt ends in a conflict. */
const storeAttemptsLimit = 5;

/**
 * Stores the status of one resource after a decision, if the status has changed.
 * The answer to a create must not be lost, because the endpoint exists already. So if a conflict stops it, it is stored
 * on the newest version of the resource, in at most `storeAttemptsLimit` attempts. If a conflict stops any other status,
 * this function throws, and the caller has the resource decided again.
 * @returns `undefined` if, after a conflict of a create, the resource proves to be gone or replaced.
 * @throws KubernetesError, LeaderFenceError. The ended operations stay pending: they are counted if a later status
 *   shows that the write was stored.
 */
async function storeStatus(
  store: ReconcileContext["store"],
  { worked, step, operations }: StepToStore,
): Promise<StoredStep | undefined> {
  let current = step;
  for (let attempt = 1; ; attempt += 1) {
    const { resource } = current.local;
    const log = reduceOperations(resource.status, operations, subjectOf(current));
    const status = statusFor(current, log);
    const result = { step: current, status, log };
    addPending(worked.entry, log.ended);
    if (isSameStored(status, resource.status)) {
      return { ...result, hasChanged: false, resourceVersion: resource.resourceVersion };
    }
    try {
      const { resourceVersion } = await store.patchStatus(resource, status);
      return { ...result, hasChanged: true, resourceVersion };
    } catch (error) {
      if (!isAnsweredCreate(step) || attempt >= storeAttemptsLimit || !hasMoved(error)) {
        throw error;
      }
    }
    const fresh = await store.read(resource.key);
    if (fresh === undefined || fresh.uid !== resource.uid) {
      return undefined;
    }
    current = { ...step, local: { ...step.local, resource: fresh } };
  }
}

function addPending({ pending }: ResourceEntry, ended: OperationLogStep["ended"]): void {
  for (const operation of ended) {
    pending.set(operation.operationId, operation);
  }
}

export function subjectOf(step: ResourceStep): LogSubject {
  const { resource, memory } = step.local;
  return {
    ownership: recordsAfter(step).ownership,
    previousOwnership: resource.status.ownership,
    endpoint: latestEndpoint(step),
    answeredIds: answeredOperations(step).map(({ id }) => id),
    ownOperationIds: memory.ownOperationIds,
    acknowledgedOperationId: resource.annotations[annotations.acknowledgeOperation],
  };
}

function isAnsweredCreate({ plan, outcome }: ResourceStep): boolean {
  return outcome.kind === "Accepted" && plan !== undefined && rulesOf(plan).intent(plan) !== undefined;
}
