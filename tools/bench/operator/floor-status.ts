/** The statuses that the floor stores. */
import { createHash, randomUUID } from "node:crypto";
import type {
  Acknowledged,
  ComputeEndpointStatus,
  Condition,
  OperationWatermark,
  StatusOperation,
} from "../../../src/resource/status-schema.ts";

// The floor's statuses are as large as the operator's at the same point, but nothing is computed for them.

/** The answer to a create. */
export interface CreateAnswer {
  readonly endpoint: { readonly id: string; readonly host: string };
  readonly operations: readonly { readonly id: string; readonly created_at: string }[];
}

/** A merge patch of a status: `null` removes a member. */
type StatusPatch = { readonly [Name in keyof ComputeEndpointStatus]: ComputeEndpointStatus[Name] | null };

/** Returns the status before the create is sent. */
export function intentStatus(projectId: string, branchId: string): StatusPatch {
  return {
    observedGeneration: 1,
    createIntent: {
      attempt: randomUUID(),
      token: hash(branchId).slice(0, 24),
      serviceUrl,
      projectId,
      branchId,
      type: "ReadWrite",
      preIds: [],
    },
    conditions: conditions({ isReady: false, reason: "Creating", message: "The endpoint is being created." }),
  };
}

/** Returns the status after the create was answered. */
export function inFlightStatus(
  { projectId, resourceUid }: { projectId: string; resourceUid: string },
  { endpoint, operations }: CreateAnswer,
): StatusPatch {
  const ids = operations.map(({ id }) => id);
  return {
    createIntent: null,
    ownership: {
      endpointId: endpoint.id,
      origin: "Created",
      resourceUid,
      clusterId: resourceUid,
      serviceUrl,
      projectId,
    },
    host: endpoint.host,
    poolerHost: endpoint.host.replace(endpoint.id, `${endpoint.id}-pooler`),
    state: "init",
    pendingState: "active",
    compute: { minUnits: 0.25, maxUnits: 1, size: "0.25-1", maxConnections: 112 },
    acknowledged: acknowledged(1, ids),
    operations: operations.map((operation) => ({ ...operationOf(operation), status: "running" })),
    operationWatermark: watermark(operations, ids),
    conditions: conditions({ isReady: false, reason: "OperationInFlight", message: "start_compute is running." }),
  };
}

/** Returns the status after the operations have ended. */
export function readyStatus({ operations }: CreateAnswer): StatusPatch {
  const ids = operations.map(({ id }) => id);
  return {
    state: "active",
    pendingState: null,
    acknowledged: acknowledged(0, ids),
    operations: operations.map((operation) => ({
      ...operationOf(operation),
      status: "finished",
      durationMilliseconds: 200,
    })),
    operationWatermark: watermark(operations, []),
    conditions: conditions({ isReady: true, reason: "UpToDate", message: "The endpoint is as spec says." }),
  };
}

const serviceUrl = "http://127.0.0.1/api/v2";

function watermark(operations: CreateAnswer["operations"], unfinishedIds: string[]): OperationWatermark {
  const createdTime = operations[0]?.created_at ?? now();
  const counted = operations.map(({ id }) => ({ id, createdTime })).filter(({ id }) => !unfinishedIds.includes(id));
  return { floorTime: createdTime, counted, unfinishedIds };
}

function acknowledged(unmatchedAttempts: number, operationIds: string[]): Acknowledged {
  const fields = ["minUnits", "maxUnits", "suspendTimeoutSeconds"];
  return { generation: 1, hash: hash("fields"), fields, attempts: 1, unmatchedAttempts, time: now(), operationIds };
}

function operationOf({
  id,
  created_at: createdTime,
}: CreateAnswer["operations"][number]): Omit<StatusOperation, "status"> {
  return { id, action: "start_compute", failuresCount: 0, cause: "SpecChange", createdTime, updatedTime: createdTime };
}

interface Progress {
  readonly isReady: boolean;
  readonly reason: string;
  readonly message: string;
}

function conditions({ isReady, reason, message }: Progress): Condition[] {
  const common = { observedGeneration: 1, lastTransitionTime: now() };
  const nothingFailed = "No operation has failed, or a later one of the same action succeeded.";
  return [
    { ...common, type: "Ready", status: isReady ? "True" : "False", reason, message } as const,
    ...(isReady ? [] : [{ ...common, type: "Reconciling", status: "True", reason, message } as const]),
    { ...common, type: "LastOperationSucceeded", status: "True", reason: "NoFailure", message: nothingFailed },
    { ...common, type: "CredentialsValid", status: "True", reason: "Accepted", message: "The key is accepted." },
  ];
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function now(): string {
  return new Date().toISOString();
}
