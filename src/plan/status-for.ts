import type { ObservedEndpoint } from "../domain/endpoint.ts";
import { isSameStored } from "../domain/same-stored.ts";
import { conditionOf } from "../resource/conditions.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus, OperationWatermark } from "../resource/status-schema.ts";
import type { AttributedOperation } from "./attribute-operations.ts";
import { maxConnectionsOf, sizeText } from "./compute-sizes.ts";
import { conditionsFor } from "./conditions-for.ts";
import { type OperationLog, operationLogAfter } from "./operation-log.ts";
import { latestEndpoint, type Pass } from "./pass.ts";
import { recordsFor } from "./records-for.ts";
import { verdictFor } from "./verdict.ts";

/** The status after a pass, and what may be counted once it is stored. */
export interface StatusStep {
  readonly status: ComputeEndpointStatus;
  readonly ended: readonly AttributedOperation[];
  /** @see WatermarkStep; to be told once it is stored. */
  readonly dropped: readonly string[];
  /**
   * RFC 3339, the service's clock: operations created up to it need not be listed again, once the status is stored.
   * `undefined`: the log was not read.
   */
  readonly countedTime: string | undefined;
}

/**
 * Computes the whole status after a pass. Pure; equal input gives an equal status, so that a resource at rest causes
 * no write.
 */
export function statusFor(pass: Pass): StatusStep {
  const { resource } = pass.local;
  const verdict = verdictFor(pass.local, pass.plan, pass.outcome);
  const records = recordsFor(pass, verdict);
  const hasNewEndpoint = records.ownership?.endpointId !== resource.status.ownership?.endpointId;
  const facts = hasNewEndpoint && records.ownership === undefined ? noEndpoint : endpointFacts(pass);
  const log = operationLogAfter(pass, records.ownership);
  const conditions = conditionsFor({ pass, verdict, failedActions: log.failedActions });
  const observedGeneration = verdict.kind === "Unchanged" ? resource.status.observedGeneration : resource.generation;
  const status: ComputeEndpointStatus = {
    ...resource.status,
    ...facts,
    observedGeneration,
    ...records,
    operations: log.operations,
    failedActions: [...log.failedActions],
    operationWatermark: log.watermark,
    lastHandledReconcileAt:
      pass.outcome.kind === "Deferred"
        ? resource.status.lastHandledReconcileAt
        : resource.annotations[annotations.reconcileRequestedAt],
    conditions,
  };
  return {
    status: keepQuietFields(withoutEmpty(status), resource.status, log),
    ended: log.ended,
    dropped: log.dropped,
    countedTime: log.isRead ? log.watermark?.createdTime : undefined,
  };
}

const noEndpoint = {
  host: undefined,
  poolerHost: undefined,
  state: undefined,
  pendingState: undefined,
  compute: undefined,
  lastActiveTime: undefined,
};

function endpointFacts(pass: Pass): Partial<ComputeEndpointStatus> {
  const endpoint = latestEndpoint(pass);
  if (endpoint === undefined) {
    return pass.observation?.remote.kind === "Absent" ? noEndpoint : {};
  }
  const maxConnections = maxConnectionsOf(endpoint.minUnits);
  return {
    host: endpoint.host,
    poolerHost: endpoint.host.replace(endpoint.id, `${endpoint.id}-pooler`),
    state: endpoint.state,
    pendingState: endpoint.pendingState ?? keptPendingState(pass, endpoint),
    compute: {
      minUnits: endpoint.minUnits,
      maxUnits: endpoint.maxUnits,
      size: sizeText(endpoint.minUnits, endpoint.maxUnits),
      ...(maxConnections === undefined ? {} : { maxConnections }),
    },
    lastActiveTime: endpoint.lastActiveTime,
  };
}

/** Only answers to writes name it in the seed's dialect; it stands as long as the operations of that write do. */
function keptPendingState({ local, plan }: Pass, endpoint: ObservedEndpoint): string | undefined {
  const { state, pendingState } = local.resource.status;
  const isStillMoving = plan?.kind === "Wait" && plan.reason === "OperationInFlight" && state === endpoint.state;
  return isStillMoving ? pendingState : undefined;
}

/** An empty list says no more than an absent one. */
function withoutEmpty(status: ComputeEndpointStatus): ComputeEndpointStatus {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(entries) as ComputeEndpointStatus;
}

/** The list of a busy project cannot be read back for long: a watermark further behind is written by itself. */
const longestBehindMs = 86_400_000;

/**
 * Activity alone is no reason for a write, and neither is a watermark that counts nothing: it moves along with other
 * changes, and once a day without, so that the next process need not read far back. While our own operation runs, the state may be newer than
 * the word that it has ended; that word follows at once, and both are written together.
 */
function keepQuietFields(
  next: ComputeEndpointStatus,
  previous: ComputeEndpointStatus,
  { ended, watermark }: OperationLog,
): ComputeEndpointStatus {
  const before = previous.operationWatermark;
  const isSameBranch = before?.branch?.id === watermark?.branch?.id;
  const isNear = behindMs(before, watermark) < longestBehindMs;
  const isQuiet = before !== undefined && ended.length === 0 && isSameBranch && isNear;
  const isAtWork = conditionOf(next.conditions, "Reconciling")?.reason === "OperationInFlight";
  const quiet = withoutEmpty({
    ...next,
    lastActiveTime: previous.lastActiveTime,
    ...(isQuiet ? { operationWatermark: before } : {}),
    ...(isAtWork ? { state: previous.state, pendingState: previous.pendingState } : {}),
  });
  return isSameStored(quiet, withoutEmpty(previous)) ? quiet : next;
}

function behindMs(before: OperationWatermark | undefined, next: OperationWatermark | undefined): number {
  return before === undefined || next === undefined ? 0 : Date.parse(next.createdTime) - Date.parse(before.createdTime);
}
