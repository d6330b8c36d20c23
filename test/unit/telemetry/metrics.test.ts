/** Tests the values of the metrics. */
import { describe, expect, test } from "vitest";
import type { EndedOperation } from "../../../src/domain/operation.ts";
import type { WorkQueueObserver } from "../../../src/domain/worker.ts";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import type { ReflectorStats } from "../../../src/telemetry/metrics.ts";
import { metricsOf, quietWatch } from "../../support/metrics-of.ts";

function resource(name: string, status: object, spec: object = {}): ComputeEndpoint {
  return parseComputeEndpoint({
    metadata: { namespace: "shop", name, uid: `uid-${name}`, resourceVersion: "1" },
    spec: { projectId: "green-fox-123456", branchId: "br-quiet-sun-123456", type: "ReadWrite", ...spec },
    status,
  });
}

function condition(type: string, status: string) {
  return { type, status, observedGeneration: 1, lastTransitionTime: "", reason: "Accepted", message: "" };
}

function operation(action: string, status: string, createdTime = "2026-11-21T11:59:30Z") {
  return { id: `${action}-${status}`, action, status, cause: "SpecChange", createdTime, updatedTime: createdTime };
}

function ended(change: Partial<EndedOperation> = {}): EndedOperation {
  return {
    operationId: "0c7c1d6e-6f0e-4b0c-9f62-5a1d0e9c2b11",
    action: "start_compute",
    outcome: "succeeded",
    cause: "SpecChange",
    durationMs: 812,
    namespace: "shop",
    name: "orders",
    ...change,
  };
}

describe("ended operations", () => {
  test("one ended well → duration and total, no failure", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended());
    expect(await metrics.series("compute_endpoint_operations_total")).toEqual([
      'compute_endpoint_operations_total{action="start_compute",outcome="succeeded",cause="SpecChange"} 1',
    ]);
    expect(await metrics.series("compute_endpoint_operation_duration_seconds_sum")).toEqual([
      'compute_endpoint_operation_duration_seconds_sum{action="start_compute",outcome="succeeded"} 0.812',
    ]);
    expect(await metrics.series("compute_endpoint_operation_failures_total")).toEqual([]);
  });

  test("durations → buckets from 0.1 s to 30 min", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended({ durationMs: 50 }));
    metrics.operations.countEnded(ended({ durationMs: 1_800_000 }));
    const buckets = await metrics.series("compute_endpoint_operation_duration_seconds_bucket");
    expect(buckets[0]).toContain('le="0.1"');
    expect(buckets[0]).toMatch(/ 1$/);
    expect(buckets.at(-2)).toContain('le="1800"');
    expect(buckets.at(-2)).toMatch(/ 2$/);
  });

  test("an unknown duration → counted, not timed", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended({ durationMs: undefined }));
    metrics.operations.countEnded(ended({ durationMs: Number.NaN }));
    expect(await metrics.series("compute_endpoint_operation_duration_seconds_count")).toEqual([]);
    expect((await metrics.series("compute_endpoint_operations_total"))[0]).toMatch(/ 2$/);
  });

  test("failures of a resource that is gone → its series vanish, the others stay", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended({ outcome: "failed" }));
    metrics.operations.countEnded(ended({ outcome: "failed", action: "apply_config" }));
    metrics.operations.countEnded(ended({ outcome: "failed", name: "crm" }));
    metrics.operations.forgetResource({ namespace: "shop", name: "orders" });
    metrics.operations.forgetResource({ namespace: "shop", name: "never-seen" });
    expect(await metrics.series("compute_endpoint_operation_failures_total")).toEqual([
      'compute_endpoint_operation_failures_total{action="start_compute",namespace="shop",name="crm"} 1',
    ]);
  });

  test("an endless stream of new actions in one namespace → its rest counts as other; another namespace keeps its words", async () => {
    const metrics = metricsOf();
    for (let index = 0; index < 500; index += 1) {
      metrics.operations.countEnded(ended({ action: `action_${index}` }));
    }
    metrics.operations.countEnded(ended({ action: "x".repeat(65) }));
    metrics.operations.countEnded(ended({ action: "new_action", namespace: "crm" }));
    const series = await metrics.series("compute_endpoint_operations_total");
    expect(series).toHaveLength(102);
    expect(series).toContain(
      'compute_endpoint_operations_total{action="new_action",outcome="succeeded",cause="SpecChange"} 1',
    );
    expect(series).toContain(
      'compute_endpoint_operations_total{action="other",outcome="succeeded",cause="SpecChange"} 401',
    );
  });
});

describe("gauges of resources", () => {
  test("several failed actions beyond the bound → one series for them all, not one twice", async () => {
    const failedActions = ["x", "y"].map((letter) => ({ action: letter.repeat(65), operationId: "o", time: "" }));
    const conditions = [condition("LastOperationSucceeded", "False")];
    const { series } = metricsOf(() => [resource("orders", { conditions, failedActions })]);
    expect(await series("compute_endpoint_operation_failed")).toEqual([
      'compute_endpoint_operation_failed{namespace="shop",name="orders",action="other"} 1',
    ]);
  });

  test("a resource with everything → one series for each fact", async () => {
    const orders = resource("orders", {
      state: "active",
      ownership: {
        endpointId: "ep-cool-dawn-123456",
        origin: "Created",
        resourceUid: "uid-orders",
        clusterId: "c",
        serviceUrl: "u",
        projectId: "green-fox-123456",
      },
      conditions: [condition("Ready", "True"), condition("LastOperationSucceeded", "False")],
      failedActions: [{ action: "suspend_compute", operationId: "o", time: "" }],
      operations: [
        operation("start_compute", "running", "2026-11-21T11:59:30Z"),
        operation("apply_config", "scheduling", "2026-11-21T11:58:00Z"),
        operation("apply_config", "finished", "2026-11-21T11:00:00Z"),
        operation("apply_config", "unheard-of", "2026-11-21T11:00:00Z"),
      ],
    });
    const { series } = metricsOf(() => [orders]);
    expect(await series("compute_endpoint_condition")).toEqual([
      'compute_endpoint_condition{namespace="shop",name="orders",type="Ready",status="True"} 1',
      'compute_endpoint_condition{namespace="shop",name="orders",type="LastOperationSucceeded",status="False"} 1',
    ]);
    expect(await series("compute_endpoint_info")).toEqual([
      'compute_endpoint_info{namespace="shop",name="orders",project_id="green-fox-123456",branch_id="br-quiet-sun-123456",endpoint_id="ep-cool-dawn-123456",type="ReadWrite"} 1',
    ]);
    expect(await series("compute_endpoint_state")).toEqual([
      'compute_endpoint_state{namespace="shop",name="orders",state="active"} 1',
    ]);
    expect(await series("compute_endpoint_operation_failed")).toEqual([
      'compute_endpoint_operation_failed{namespace="shop",name="orders",action="suspend_compute"} 1',
    ]);
    expect(await series("compute_endpoint_operation_oldest_in_flight_seconds")).toEqual([
      'compute_endpoint_operation_oldest_in_flight_seconds{namespace="shop",name="orders"} 120',
    ]);
    expect(await series("compute_endpoint_operations_in_flight")).toEqual([
      'compute_endpoint_operations_in_flight{action="start_compute"} 1',
      'compute_endpoint_operations_in_flight{action="apply_config"} 1',
    ]);
  });

  test("a resource is deleted → none of its series is left, the action stays at 0", async () => {
    const busy = {
      state: "active",
      conditions: [condition("Ready", "False"), condition("LastOperationSucceeded", "False")],
      failedActions: [{ action: "start_compute", operationId: "o", time: "" }],
      operations: [operation("start_compute", "running")],
    };
    let resources = [resource("orders", busy), resource("crm", busy)];
    const { lines, series } = metricsOf(() => resources);
    expect(await series("compute_endpoint_operations_in_flight")).toEqual([
      'compute_endpoint_operations_in_flight{action="start_compute"} 2',
    ]);
    resources = [];
    expect((await lines()).filter((line) => /name="(orders|crm)"/.test(line))).toEqual([]);
    expect(await series("compute_endpoint_operations_in_flight")).toEqual([
      'compute_endpoint_operations_in_flight{action="start_compute"} 0',
    ]);
  });

  test("a failure that was acknowledged → no series", async () => {
    const { series } = metricsOf(() => [
      resource("orders", {
        conditions: [condition("LastOperationSucceeded", "True")],
        failedActions: [{ action: "start_compute", operationId: "o", time: "" }],
      }),
    ]);
    expect(await series("compute_endpoint_operation_failed")).toEqual([]);
  });

  test("a failed condition without a remembered action → still one series, so that an alert fires", async () => {
    const { series } = metricsOf(() => [
      resource("orders", { conditions: [condition("LastOperationSucceeded", "False")] }),
    ]);
    expect(await series("compute_endpoint_operation_failed")).toEqual([
      'compute_endpoint_operation_failed{namespace="shop",name="orders",action="unknown"} 1',
    ]);
  });

  test("a spec that cannot be read, no status, a broken time → the scrape still answers", async () => {
    const { series } = metricsOf(() => [
      resource("broken", {}, { type: "Neither" }),
      resource("odd", { operations: [operation("start_compute", "running", "yesterday")] }),
    ]);
    expect((await series("compute_endpoint_info"))[0]).toBe(
      'compute_endpoint_info{namespace="shop",name="broken",project_id="green-fox-123456",branch_id="",endpoint_id="",type=""} 1',
    );
    expect(await series("compute_endpoint_operation_oldest_in_flight_seconds")).toEqual([]);
  });
});

describe("the process", () => {
  test("reconciles → controller-runtime's names", async () => {
    const metrics = metricsOf();
    metrics.reconciles.workersChanged(1);
    expect(await metrics.series("controller_runtime_active_workers")).toEqual([
      'controller_runtime_active_workers{controller="computeendpoint"} 1',
    ]);
    metrics.reconciles.reconcileEnded("requeue_after", 0.02);
    metrics.reconciles.reconcileEnded("error", 0.02);
    metrics.reconciles.workersChanged(0);
    expect(await metrics.series("controller_runtime_reconcile_total")).toEqual([
      'controller_runtime_reconcile_total{controller="computeendpoint",result="success"} 0',
      'controller_runtime_reconcile_total{controller="computeendpoint",result="error"} 1',
      'controller_runtime_reconcile_total{controller="computeendpoint",result="requeue"} 0',
      'controller_runtime_reconcile_total{controller="computeendpoint",result="requeue_after"} 1',
    ]);
    expect((await metrics.series("controller_runtime_reconcile_errors_total"))[0]).toMatch(/ 1$/);
    expect((await metrics.series("controller_runtime_active_workers"))[0]).toMatch(/ 0$/);
    expect((await metrics.series("controller_runtime_max_concurrent_reconciles"))[0]).toMatch(/ 16$/);
  });

  test("the queue → client-go's names, and its own observer fits", async () => {
    const metrics = metricsOf();
    const observer: WorkQueueObserver = metrics.queue;
    observer.added();
    observer.depthChanged(1);
    observer.taken(0.002);
    observer.finished(0.2);
    observer.retried();
    const labels = '{name="computeendpoint",controller="computeendpoint"}';
    for (const [name, value] of [
      ["workqueue_adds_total", 1],
      ["workqueue_depth", 1],
      ["workqueue_queue_duration_seconds_count", 1],
      ["workqueue_work_duration_seconds_sum", 0.2],
      ["workqueue_retries_total", 1],
      ["workqueue_unfinished_work_seconds", 3],
      ["workqueue_longest_running_processor_seconds", 2],
    ]) {
      expect(await metrics.series(String(name))).toEqual([`${name}${labels} ${value}`]);
    }
  });

  test("the watch → lists and watches as they are now, silence once there was a list", async () => {
    let now: ReflectorStats = quietWatch;
    const { series } = metricsOf(undefined, () => now);
    expect(await series("reflector_synced")).toEqual(['reflector_synced{name="computeendpoint"} 0']);
    expect(await series("reflector_silent_seconds")).toEqual([]);
    now = { hasSynced: true, isWatching: true, silentForMs: 1_500, lists: 2, watches: 3 };
    await series("reflector_lists_total");
    for (const [name, value] of [
      ["reflector_lists_total", 2],
      ["reflector_watches_total", 3],
      ["reflector_synced", 1],
      ["reflector_watching", 1],
      ["reflector_silent_seconds", 1.5],
    ]) {
      expect(await series(String(name))).toEqual([`${name}{name="computeendpoint"} ${value}`]);
    }
  });

  test("requests → counted and timed by route, method and code", async () => {
    const metrics = metricsOf();
    const route = "/projects/{project_id}/endpoints";
    metrics.controlPlane.requestEnded({ route, method: "GET", code: "200", seconds: 0.02 });
    metrics.controlPlane.requestEnded({ route, method: "GET", code: "TimedOut", seconds: 8 });
    metrics.controlPlane.throttled("TooManyRequests");
    metrics.controlPlane.locked("ConflictingOperations");
    expect(await metrics.series("control_plane_requests_total")).toEqual([
      `control_plane_requests_total{route="${route}",method="GET",code="200"} 1`,
      `control_plane_requests_total{route="${route}",method="GET",code="TimedOut"} 1`,
    ]);
    expect(await metrics.series("control_plane_request_duration_seconds_count")).toHaveLength(2);
    expect(await metrics.series("control_plane_throttled_total")).toEqual([
      'control_plane_throttled_total{reason="TooManyRequests",control_plane="settings"} 1',
      'control_plane_throttled_total{reason="HeldBack",control_plane="settings"} 0',
      'control_plane_throttled_total{reason="BudgetUsedUp",control_plane="settings"} 0',
    ]);
    expect((await metrics.series("control_plane_locked_total"))[0]).toMatch(/ 1$/);
  });

  test("a control plane of a team → series of its own, which go with it; the settings' series stay", async () => {
    const { controlPlane, series } = metricsOf();
    const name = "ControlPlane/shop/own";
    controlPlane.callBegan(name);
    controlPlane.throttledAt(name, "HeldBack");
    expect(await series("control_plane_calls_total")).toEqual([
      'control_plane_calls_total{control_plane="settings"} 0',
      `control_plane_calls_total{control_plane="${name}"} 1`,
    ]);
    expect(await series("control_plane_throttled_total")).toContain(
      `control_plane_throttled_total{reason="HeldBack",control_plane="${name}"} 1`,
    );
    controlPlane.keyForgotten(name);
    expect(await series("control_plane_calls_total")).toHaveLength(1);
    expect(await series("control_plane_throttled_total")).toHaveLength(3);
  });

  test("leader, orphans, version → one series each", async () => {
    const { series } = metricsOf();
    expect(await series("leader_election_master_status")).toEqual([
      'leader_election_master_status{name="endpoint-operator"} 1',
    ]);
    expect(await series("compute_endpoint_orphans")).toEqual(["compute_endpoint_orphans 2"]);
    expect(await series("endpoint_operator_build_info")).toEqual(['endpoint_operator_build_info{version="1.2.3"} 1']);
  });
});
