/** Computes the status of a resource from the result of one reconcile for it (`ResourceStep`). */
import { type ObservedEndpoint, pooledHostOf } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { isBeingDeleted } from "../resource/compute-endpoint.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { Acknowledged, ComputeEndpointStatus } from "../resource/status-schema.ts";
import { conditionsFor, failureStallIn, summaryOf } from "./conditions-for.ts";
import { desiredChanges, desiredFields, diffEndpoint, hashOf } from "./desired-endpoint.ts";
import type { LocalObservation, ResourceStep } from "./observation.ts";
import { type Records, rulesOf } from "./plan-table.ts";

export interface OperationStatus {
  readonly state: Pick<ComputeEndpointStatus, "operations" | "failedActions" | "operationWatermark">;
  /** Whether the watermark must be stored even if nothing else changed. */
  readonly mustStore: boolean;
}

/** `reduceOperations` needs the ownership record before the whole status can be computed. */
export function recordsAfter({ plan, outcome, local }: ResourceStep): Records {
  const { ownership, createIntent } = local.resource.status;
  const kept = { ownership, createIntent };
  return plan === undefined ? kept : { ...kept, ...rulesOf(plan).records(plan, outcome, local) };
}

/** Equal input gives equal status, so a resource at rest causes no write. */
export function statusFor(step: ResourceStep, log: OperationStatus): ComputeEndpointStatus {
  const { resource } = step.local;
  const summary = summaryOf(step);
  const records = recordsAfter(step);
  const { operations, failedActions, operationWatermark } = log.state;
  const isForgotten = records.ownership === undefined && resource.status.ownership !== undefined;
  const status: ComputeEndpointStatus = {
    ...resource.status,
    ...(isForgotten ? noEndpoint : endpointFields(step)),
    ...records,
    ...{ operations, failedActions, operationWatermark },
    acknowledged: acknowledgedAfter(step),
    observedGeneration: summary.kind === "Unchanged" ? resource.status.observedGeneration : resource.generation,
    ...(step.plan && rulesOf(step.plan).echo(step.plan, step.outcome)),
    lastHandledReconcileAt: handledReconcileAt(step),
    conditions: conditionsFor(step, summary, failedActions ?? []),
  };
  return keepQuietFields(withoutEmpty(status), resource.status, log);
}

/**
 * Returns the status that the operator stores before it sends a create or a delete. For a create it holds the intent.
 * For a DELETE its conditions say Deleting. A retry of a change that failed keeps the
 * conditions, so it often writes nothing. A deletion after another failed change is not a retry: it has another
 * generation.
 */
export function statusBefore(step: ResourceStep): ComputeEndpointStatus {
  const { local, plan } = step;
  const { status, generation } = local.resource;
  const createIntent = (plan && rulesOf(plan).intent(plan)) ?? status.createIntent;
  const isRetry = local.memory.failure?.generation === generation || failureStallIn(local.resource) !== undefined;
  if (plan === undefined || isRetry) {
    return withoutEmpty({ ...status, createIntent });
  }
  const summary = rulesOf(plan).summary(plan, local);
  const conditions = conditionsFor(step, summary, status.failedActions ?? []);
  return withoutEmpty({ ...status, createIntent, observedGeneration: generation, conditions });
}

/**
 * Returns the `reconcile-requested-at` value that was handled last. A resource whose change waits for other changes has
 * not been reconciled yet.
 */
function handledReconcileAt({ local, outcome, isLookPending = false }: ResourceStep): string | undefined {
  const { status, annotations: given } = local.resource;
  return outcome.kind === "Deferred" || isLookPending
    ? status.lastHandledReconcileAt
    : given[annotations.reconcileRequestedAt];
}

const noEndpoint = {
  host: undefined,
  poolerHost: undefined,
  state: undefined,
  pendingState: undefined,
  compute: undefined,
  lastActiveTime: undefined,
};

function endpointFields(step: ResourceStep): Partial<ComputeEndpointStatus> {
  const endpoint = latestEndpoint(step);
  if (endpoint === undefined) {
    return {};
  }
  const maxConnections = maxConnectionsByUnits.get(endpoint.minUnits);
  return {
    host: endpoint.host,
    poolerHost: pooledHostOf(endpoint),
    state: endpoint.state,
    pendingState: endpoint.pendingState ?? keptPendingState(step, endpoint.state),
    compute: {
      minUnits: endpoint.minUnits,
      maxUnits: endpoint.maxUnits,
      size: sizeText(endpoint.minUnits, endpoint.maxUnits),
      ...(maxConnections === undefined ? {} : { maxConnections }),
    },
    lastActiveTime: endpoint.lastActiveTime,
  };
}

/**
 * Keeps the stored `pendingState` while the operator's own operations run and the control plane still shows the stored
 * `state`. Some control planes show `pendingState` only in answers to changes.
 */
function keptPendingState({ local, observation }: ResourceStep, shownState: string): string | undefined {
  const { state, pendingState } = local.resource.status;
  const isStillMoving = (observation?.operations.ownInFlight.length ?? 0) > 0 && state === shownState;
  return isStillMoving ? pendingState : undefined;
}

/** Removes empty lists and `undefined` members, because they mean the same as absent ones. */
export function withoutEmpty<Status extends object>(status: Status): Status {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(entries) as Status;
}

/**
 * Keeps the stored values of `lastActiveTime` and of a watermark that counts nothing new, if nothing else changed.
 * Alone, they are not worth a write. While our own operation runs, state and pendingState are kept too; they are
 * written when it ends.
 */
function keepQuietFields(
  next: ComputeEndpointStatus,
  previous: ComputeEndpointStatus,
  { mustStore }: OperationStatus,
): ComputeEndpointStatus {
  const isOperationRunning = conditionOf(next.conditions, "Reconciling")?.reason === "OperationInFlight";
  const quiet = withoutEmpty({
    ...next,
    lastActiveTime: previous.lastActiveTime,
    ...(mustStore ? {} : { operationWatermark: previous.operationWatermark }),
    ...(isOperationRunning ? { state: previous.state, pendingState: previous.pendingState } : {}),
  });
  return isSameStored(quiet, withoutEmpty(previous)) ? quiet : next;
}

/**
 * The maximum number of connections for each minimum size in compute units. The number stays the same while the
 * endpoint scales.
 * @see docs/sandbox.md, "Compute sizes" (the control plane's documentation, read 2026-08)
 */
const maxConnectionsByUnits: ReadonlyMap<number, number> = new Map([
  [0.25, 112],
  [0.5, 225],
  [1, 450],
  [2, 901],
  [3, 1351],
  [4, 1802],
  [5, 2253],
  [6, 2703],
  [7, 3154],
  [8, 3604],
]);

/** Writes a size as people read it: `2` for a fixed size, `0.25-2` for a range. */
function sizeText(minUnits: number, maxUnits: number): string {
  return minUnits === maxUnits ? `${minUnits}` : `${minUnits}-${maxUnits}`;
}

function acknowledgedAfter(step: ResourceStep): Acknowledged | undefined {
  const { plan, outcome, local } = step;
  const previous = local.resource.status.acknowledged;
  if (plan === undefined) {
    return previous;
  }
  const request = rulesOf(plan).request(plan, outcome);
  switch (request.kind) {
    case "Accepted":
      return accepted(step, request.hash);
    case "Forgotten":
      return undefined;
    case "Unnecessary":
      return isBeingDeleted(local.resource) ? previous : matched(step);
    case "None":
      return previous;
  }
}

/** Records an accepted request. Requests with the same values are counted together. */
function accepted(step: ResourceStep, hash: string): Acknowledged {
  const { resource, nowMs } = step.local;
  const { acknowledged: previous } = resource.status;
  const row = previous?.hash === hash ? previous : { attempts: 0, unmatchedAttempts: 0 };
  return {
    generation: resource.generation,
    hash,
    fields: managedFields(step.local),
    attempts: row.attempts + 1,
    unmatchedAttempts: row.unmatchedAttempts + 1,
    time: new Date(nowMs).toISOString(),
    operationIds: answeredOperations(step).map(({ id }) => id),
  };
}

/**
 * Marks the request that spec describes as acknowledged if no managed field of the endpoint shows another value.
 * Otherwise the record stays as it was.
 */
function matched(step: ResourceStep): Acknowledged | undefined {
  const { resource, nowMs } = step.local;
  const previous = resource.status.acknowledged;
  const endpoint = latestEndpoint(step);
  if (resource.spec.kind === "Invalid" || endpoint === undefined) {
    return previous;
  }
  const { spec } = resource.spec;
  if (diffEndpoint(spec, endpoint).differing.length > 0) {
    return previous;
  }
  const { generation } = resource;
  const hash = hashOf(desiredChanges(spec));
  const fields = managedFields(step.local);
  return previous?.hash === hash
    ? { ...previous, generation, fields, unmatchedAttempts: 0 }
    : { generation, hash, fields, attempts: 0, unmatchedAttempts: 0, time: new Date(nowMs).toISOString() };
}

function managedFields({ resource }: LocalObservation): string[] {
  return resource.spec.kind === "Valid" ? desiredFields(resource.spec.spec).map(({ field }) => field) : [];
}

/**
 * Returns the newest state of the resource's endpoint that a reconcile knows: from our own answer, else from the
 * snapshot. `undefined`: it saw no endpoint, or its DELETE was accepted.
 */
export function latestEndpoint({ observation, plan, outcome, local }: ResourceStep): ObservedEndpoint | undefined {
  const shown = plan && rulesOf(plan).shownEndpoint(plan, outcome);
  if (shown !== undefined || outcome.kind === "Accepted") {
    return shown;
  }
  const endpointId = local.resource.status.ownership?.endpointId;
  if (observation === undefined || endpointId === undefined) {
    return undefined;
  }
  return observation.project.endpoints.get(endpointId);
}

export function answeredOperations({ outcome, plan, local }: ResourceStep): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.answer?.operations ?? [];
  }
  return plan !== undefined && rulesOf(plan).request(plan, outcome).kind === "Accepted"
    ? (local.memory.answeredCreate?.operations ?? [])
    : [];
}
