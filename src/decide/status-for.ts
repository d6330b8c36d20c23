import { isSameStored } from "../domain/same-stored.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { acknowledgedAfter } from "./acknowledged-after.ts";
import { maxConnectionsOf, sizeText } from "./compute-sizes.ts";
import { summaryOf } from "./condition-summary.ts";
import { conditionsFor } from "./conditions-for.ts";
import type { ResourceStep } from "./outcome.ts";
import { entryOf, type Records } from "./plan-table.ts";
import { latestEndpoint } from "./step-results.ts";

/** What the operation log adds to status. The reducer of the log computes it. */
export interface OperationStatus {
  readonly state: Pick<ComputeEndpointStatus, "operations" | "failedActions" | "operationWatermark">;
  /** Whether the watermark must be stored even if nothing else changed. */
  readonly mustStore: boolean;
}

/** The records after a step. The operation log needs them before the status is computed. */
export function recordsAfter({ plan, outcome, local }: ResourceStep): Records {
  const { ownership, createIntent } = local.resource.status;
  const kept = { ownership, createIntent };
  return plan === undefined ? kept : { ...kept, ...entryOf(plan).records(plan, outcome, local) };
}

/**
 * Computes the whole status after a step. Pure. The same input gives the same status, so that a resource at rest causes
 * no write.
 */
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
    ...(step.plan && entryOf(step.plan).echo(step.plan, step.outcome)),
    lastHandledReconcileAt: handledReconcileAt(step),
    conditions: conditionsFor({ step, summary, failedActions: failedActions ?? [] }),
  };
  return keepQuietFields(withoutEmpty(status), resource.status, log);
}

/**
 * The status that the operator stores before it sends a create or a delete: the intent, or that a DELETE may be on its
 * way. A row of failures keeps its conditions, so that a retry of the same refusal writes nothing.
 */
export function statusBefore(step: ResourceStep): ComputeEndpointStatus {
  const { local, plan } = step;
  const { status, generation } = local.resource;
  const createIntent = (plan && entryOf(plan).intent(plan)) ?? status.createIntent;
  if (plan === undefined || local.memory.failure !== undefined) {
    return withoutEmpty({ ...status, createIntent });
  }
  const summary = entryOf(plan).summary(plan, local);
  const conditions = conditionsFor({ step, summary, failedActions: status.failedActions ?? [] });
  return withoutEmpty({ ...status, createIntent, observedGeneration: generation, conditions });
}

/** A resource that waits for its turn has not been reconciled yet. */
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
  const maxConnections = maxConnectionsOf(endpoint.minUnits);
  return {
    host: endpoint.host,
    poolerHost: endpoint.host.replace(endpoint.id, `${endpoint.id}-pooler`),
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

/** Some control planes name it only in answers to changes. It stays as long as the operations of that change run. */
function keptPendingState({ local, observation }: ResourceStep, shownState: string): string | undefined {
  const { state, pendingState } = local.resource.status;
  const isStillMoving = (observation?.operations.ownInFlight.length ?? 0) > 0 && state === shownState;
  return isStillMoving ? pendingState : undefined;
}

/** An empty list says no more than an absent one. */
function withoutEmpty(status: ComputeEndpointStatus): ComputeEndpointStatus {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(entries) as ComputeEndpointStatus;
}

/**
 * Keeps the stored value of fields that are no reason for a write by themselves: activity, and a watermark that counts
 * nothing. While our own operation runs, the state may be newer than the report that the operation has ended; both are
 * then written together.
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
