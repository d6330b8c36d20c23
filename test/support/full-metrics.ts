/** Metrics with at least one series each. */
import type { AttributedOperation } from "../../src/domain/operation.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../src/resource/compute-endpoint.ts";
import { type DatabaseAccess, parseDatabaseAccess } from "../../src/resource/database-access.ts";
import { type DatabaseBranch, parseDatabaseBranch } from "../../src/resource/database-branch.ts";
import type { Metrics } from "../../src/telemetry/metrics.ts";
import { connectedPlane, metricsOf } from "./metrics-of.ts";

/** Makes metrics with at least one series each. The values are always the same, except for those of the process. */
export function fullMetrics(): Metrics {
  const metrics = metricsOf({
    resources: () => [busyResource()],
    accesses: () => [readyAccess()],
    branches: () => [leavingBranch()],
    unreadableCount: () => 1,
    controlPlanes: () => [{ ...connectedPlane("settings"), credentials: "Refused" }],
    watchStats: () => ({ hasSynced: true, isWatching: true, silentForMs: 1_500, lists: 2, watches: 3 }),
  });
  const orders = { namespace: "shop", name: "orders" };
  metrics.operations.countEnded(endedOperation({}), orders);
  metrics.operations.countEnded(endedOperation({ status: "failed", totalDurationMs: 2_000_000 }), orders);
  const totals = { sinceTime: "", activeSeconds: 3_600, minUnitSeconds: 900, maxUnitSeconds: 7_200, starts: 2 };
  metrics.operations.usageRead(orders, totals);
  const route = "/projects/{project_id}/endpoints";
  const { controlPlane } = metrics;
  controlPlane.requestEnded({ route, method: "GET", code: "200", seconds: 0.02 });
  controlPlane.locked("ConflictingOperations");
  controlPlane.budgetWaited("Urgent", 0.2);
  metrics.queue.added();
  metrics.queue.taken(0.002);
  metrics.queue.finished(0.2);
  metrics.queue.retried();
  metrics.reconciles.reconcileEnded("requeue_after", 0.02);
  metrics.eventLoopDelayed(0.003);
  metrics.access.secretWritten("Created");
  metrics.access.passwordReset();
  return metrics;
}

export function endedOperation(change: Partial<AttributedOperation>): AttributedOperation {
  const time = "2026-11-21T11:59:30Z";
  return {
    id: "0c7c1d6e-6f0e-4b0c-9f62-5a1d0e9c2b11",
    projectId: "green-fox-123456",
    action: "start_compute",
    branchId: undefined,
    endpointId: undefined,
    error: undefined,
    createdTime: time,
    updatedTime: time,
    status: "finished",
    failuresCount: 0,
    totalDurationMs: 812,
    cause: "SpecChange",
    ...change,
  };
}

function readyAccess(): DatabaseAccess {
  const condition = { observedGeneration: 1, lastTransitionTime: "", reason: "UpToDate", message: "" };
  return parseDatabaseAccess({
    metadata: { namespace: "shop", name: "orders-app", uid: "uid-access", resourceVersion: "1" },
    spec: { endpointRef: { name: "orders" }, database: { name: "orders" }, role: { name: "orders_app" } },
    status: {
      password: { roleUpdatedTime: "", knownSinceTime: "2026-11-21T11:00:00Z" },
      conditions: [{ ...condition, type: "Ready", status: "True" }],
    },
  });
}

function leavingBranch(): DatabaseBranch {
  return parseDatabaseBranch({
    metadata: {
      namespace: "shop",
      name: "pr-1",
      uid: "uid-branch",
      resourceVersion: "1",
      deletionTimestamp: "2026-11-21T11:59:00Z",
    },
    spec: { projectId: "green-fox-123456", leaseDurationSeconds: 3_600 },
    status: { branchId: "br-soft-rain-123456", expiresTime: "2026-11-21T12:30:00Z" },
  });
}

function busyResource(): ComputeEndpoint {
  const times = { createdTime: "2026-11-21T11:59:30Z", updatedTime: "2026-11-21T11:59:30Z" };
  const condition = (type: string, status: string) => ({
    type,
    status,
    observedGeneration: 1,
    lastTransitionTime: "",
    reason: "OperationFailed",
    message: "",
  });
  return parseComputeEndpoint({
    metadata: { namespace: "shop", name: "orders", uid: "uid-orders", resourceVersion: "1" },
    spec: {
      projectId: "green-fox-123456",
      branchId: "br-quiet-sun-123456",
      type: "ReadWrite",
      suspend: { mode: "ServiceDefault" },
    },
    status: {
      state: "active",
      pendingChange: { fields: [], hash: "3f9a", sinceTime: "2026-11-21T11:59:00Z" },
      usage: {
        sinceTime: "2026-11-21T10:00:00Z",
        asOfTime: "2026-11-21T11:00:00Z",
        isActive: true,
        activeSeconds: 60,
        minUnitSeconds: 15,
        maxUnitSeconds: 120,
        starts: 1,
      },
      conditions: [
        condition("Ready", "False"),
        condition("Stalled", "True"),
        condition("ChangePending", "True"),
        condition("LastOperationSucceeded", "False"),
        condition("CredentialsValid", "False"),
      ],
      failedActions: [{ action: "suspend_compute", operationId: "o", time: "" }],
      operations: [{ id: "o", action: "start_compute", status: "running", cause: "SpecChange", ...times }],
    },
  });
}
