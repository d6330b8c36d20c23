import type { ObservedEndpoint } from "../domain/endpoint.ts";
import type { Operation } from "../domain/operation.ts";
import { annotations } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import {
  type AttributedOperation,
  attribute,
  operationsOf,
  ownOperationIds,
  readWriteBranchOf,
} from "./attribute-operations.ts";
import { isSameStored } from "./canonical-json.ts";
import { maxConnectionsOf, sizeText } from "./compute-sizes.ts";
import { conditionsFor } from "./conditions-for.ts";
import { failedActionsAfter } from "./failed-actions.ts";
import type { Pass } from "./pass.ts";
import { recordsFor } from "./records-for.ts";
import { statusOperations } from "./status-operations.ts";
import { verdictFor } from "./verdict.ts";
import { advanceWatermark } from "./watermark.ts";

/** The status after a pass, and what may be counted once it is stored. */
export interface StatusStep {
  readonly status: ComputeEndpointStatus;
  readonly ended: readonly AttributedOperation[];
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
  const log = operationFacts(pass, { hasNewEndpoint, endpointId: records.ownership?.endpointId });
  const conditions = conditionsFor({ pass, verdict, failedActions: log.failedActions });
  const observedGeneration = verdict.kind === "Unchanged" ? resource.status.observedGeneration : resource.generation;
  const status: ComputeEndpointStatus = {
    ...resource.status,
    ...facts,
    observedGeneration,
    ...records,
    operations: log.operations,
    failedActions: log.failedActions,
    operationWatermark: log.operationWatermark,
    lastHandledReconcileAt:
      pass.outcome.kind === "Deferred"
        ? resource.status.lastHandledReconcileAt
        : resource.annotations[annotations.reconcileRequestedAt],
    conditions,
  };
  return { status: keepQuietFields(withoutEmpty(status), resource.status), ended: log.ended };
}

const noEndpoint = {
  host: undefined,
  poolerHost: undefined,
  state: undefined,
  pendingState: undefined,
  compute: undefined,
  lastActiveTime: undefined,
};

/** The newest look at the endpoint: the answer of this pass's own write, else the reading. */
function latestEndpoint({ observation, plan, outcome }: Pass): ObservedEndpoint | undefined {
  if (outcome.kind === "Accepted" && outcome.mutation !== undefined && plan?.kind !== "DeleteEndpoint") {
    return outcome.mutation.endpoint;
  }
  if (plan?.kind === "RecordOwnership") {
    return plan.endpoint;
  }
  return observation?.remote.kind === "Present" ? observation.remote.endpoint : undefined;
}

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

interface Log {
  readonly operations: ComputeEndpointStatus["operations"];
  readonly failedActions: NonNullable<ComputeEndpointStatus["failedActions"]>;
  readonly operationWatermark: ComputeEndpointStatus["operationWatermark"];
  readonly ended: readonly AttributedOperation[];
}

interface LogTarget {
  readonly hasNewEndpoint: boolean;
  readonly endpointId: string | undefined;
}

/** What the operation log says about the endpoint that status will name. A replaced endpoint takes its failures along; what was counted stays counted. */
function operationFacts(pass: Pass, { hasNewEndpoint, endpointId }: LogTarget): Log {
  const { resource } = pass.local;
  const previous = hasNewEndpoint ? {} : resource.status;
  const operations = attributedOperations(pass, { hasNewEndpoint, endpointId });
  if (operations === undefined) {
    return {
      operations: previous.operations,
      failedActions: clearAcknowledged(pass, previous.failedActions ?? []),
      operationWatermark: resource.status.operationWatermark,
      ended: [],
    };
  }
  const sinceTime = sinceTimeOf(pass);
  const { watermark, ended } = advanceWatermark(resource.status.operationWatermark, operations, sinceTime);
  return {
    operations: statusOperations(operations, previous.operations ?? []),
    failedActions: failedActionsAfter(previous.failedActions ?? [], operations, {
      acknowledgedOperationId: resource.annotations[annotations.acknowledgeOperation],
      sinceTime,
      shown: previous.operations ?? [],
    }),
    operationWatermark: watermark,
    ended,
  };
}

/**
 * From when on the log is this resource's history: of an endpoint we made from its creation, by the service's own clock;
 * of an adopted one from the creation of the resource.
 */
function sinceTimeOf(pass: Pass): string {
  const { resource } = pass.local;
  const origin = pass.plan?.kind === "RecordOwnership" ? pass.plan.ownership.origin : resource.status.ownership?.origin;
  const createdTime = origin === "Adopted" ? undefined : latestEndpoint(pass)?.createdTime;
  return createdTime ?? resource.creationTimestamp;
}

function clearAcknowledged({ local }: Pass, failures: NonNullable<ComputeEndpointStatus["failedActions"]>) {
  const acknowledged = local.resource.annotations[annotations.acknowledgeOperation];
  return failures.filter(({ operationId }) => operationId !== acknowledged);
}

/** `undefined`: this pass learnt nothing about operations. */
function attributedOperations(
  pass: Pass,
  { hasNewEndpoint, endpointId }: LogTarget,
): readonly AttributedOperation[] | undefined {
  const { observation, outcome, local } = pass;
  if (observation === undefined || endpointId === undefined) {
    return undefined;
  }
  const answered = answeredOperations(pass);
  if (answered.length === 0 && !hasNewEndpoint) {
    return operationsOf(observation);
  }
  const ownIds = new Set([...ownOperationIds(local), ...answered.map(({ id }) => id)]);
  const createdTime =
    pass.plan?.kind === "RecordOwnership" && pass.plan.ownership.origin !== "Adopted"
      ? pass.plan.endpoint.createdTime
      : undefined;
  const known = new Set(answered.map(({ id }) => id));
  const merged = [...answered, ...observation.project.operations.filter(({ id }) => !known.has(id))];
  const isUsable = outcome.kind === "Accepted" || hasNewEndpoint;
  const readWriteBranchId = readWriteBranchOf(local.resource, latestEndpoint(pass));
  return isUsable ? attribute(merged, { endpointId, ownIds, createdTime, readWriteBranchId }) : undefined;
}

/** Operations that an answer named; lists may lag behind it. */
function answeredOperations({ outcome, plan, local }: Pass): readonly Operation[] {
  if (outcome.kind === "Accepted") {
    return outcome.mutation?.operations ?? [];
  }
  return plan?.kind === "RecordOwnership" && plan.acknowledgedHash !== undefined
    ? (local.memory.answeredCreate?.operations ?? [])
    : [];
}

/** An empty list says no more than an absent one. */
function withoutEmpty(status: ComputeEndpointStatus): ComputeEndpointStatus {
  const entries = Object.entries(status).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return Object.fromEntries(entries) as ComputeEndpointStatus;
}

/** Activity alone is no reason for a write. */
function keepQuietFields(next: ComputeEndpointStatus, previous: ComputeEndpointStatus): ComputeEndpointStatus {
  const quiet = withoutEmpty({ ...next, lastActiveTime: previous.lastActiveTime });
  return isSameStored(quiet, withoutEmpty(previous)) ? quiet : next;
}
