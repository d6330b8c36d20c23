/** Tests the values of the metrics. */
import { describe, expect, test } from "vitest";
import { type ComputeEndpoint, parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { endedOperation as ended } from "../../support/full-metrics.ts";
import { connectedPlane, metricsOf } from "../../support/metrics-of.ts";

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

const [orders, crm] = [
  { namespace: "shop", name: "orders" },
  { namespace: "shop", name: "crm" },
];

describe("ended operations", () => {
  test("an unknown duration → counted, not timed", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended({ totalDurationMs: Number.NaN }), orders);
    metrics.operations.countEnded(ended({ totalDurationMs: undefined, updatedTime: "later" }), orders);
    expect(await metrics.series("compute_endpoint_operation_duration_seconds_count")).toEqual([]);
    expect((await metrics.series("compute_endpoint_operations_total"))[0]).toMatch(/ 2$/);
  });

  test("failures of a resource that is gone → its series vanish, the others stay", async () => {
    const metrics = metricsOf();
    metrics.operations.countEnded(ended({ status: "failed" }), orders);
    metrics.operations.countEnded(ended({ status: "failed", action: "apply_config" }), orders);
    metrics.operations.countEnded(ended({ status: "failed" }), crm);
    metrics.operations.forgetResource({ namespace: "shop", name: "orders" });
    metrics.operations.forgetResource({ namespace: "shop", name: "never-seen" });
    expect(await metrics.series("compute_endpoint_operation_failures_total")).toEqual([
      'compute_endpoint_operation_failures_total{action="start_compute",namespace="shop",name="crm"} 1',
    ]);
  });

  test("an endless stream of new actions in one namespace → its rest counts as other; another namespace keeps its words", async () => {
    const metrics = metricsOf();
    for (let index = 0; index < 500; index += 1) {
      metrics.operations.countEnded(ended({ action: `action_${index}` }), orders);
    }
    metrics.operations.countEnded(ended({ action: "x".repeat(65) }), orders);
    metrics.operations.countEnded(ended({ action: "new_action" }), { namespace: "crm", name: "orders" });
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

test("usage of a resource → shown after a read, never lower, and gone with the resource; counted anew, it begins anew", async () => {
  const metrics = metricsOf();
  const totals = (activeSeconds: number, sinceTime = "a") => ({
    sinceTime,
    activeSeconds,
    minUnitSeconds: activeSeconds / 4,
    maxUnitSeconds: activeSeconds * 2,
    starts: 3,
  });
  const values = async () => (await metrics.lines()).filter((line) => /^compute_endpoint_.*name="orders"/.test(line));
  expect(await values()).toEqual([]);
  metrics.operations.usageRead(orders, totals(80));
  metrics.operations.usageRead(orders, totals(40));
  expect(await values()).toEqual([
    'compute_endpoint_active_seconds_total{namespace="shop",name="orders"} 80',
    'compute_endpoint_unit_seconds_total{namespace="shop",name="orders",bound="min"} 20',
    'compute_endpoint_unit_seconds_total{namespace="shop",name="orders",bound="max"} 160',
    'compute_endpoint_starts_total{namespace="shop",name="orders"} 3',
  ]);
  metrics.operations.usageRead(orders, totals(8, "b"));
  expect((await values())[0]).toMatch(/ 8$/);
  metrics.operations.forgetResource(orders);
  expect(await values()).toEqual([]);
});

describe("gauges of resources", () => {
  test("several failed actions beyond the bound → one series for them all, not one twice", async () => {
    const failedActions = ["x", "y"].map((letter) => ({ action: letter.repeat(65), operationId: "o", time: "" }));
    const { series } = metricsOf({ resources: () => [resource("orders", { failedActions })] });
    expect(await series("compute_endpoint_operation_failed")).toEqual([
      'compute_endpoint_operation_failed{namespace="shop",name="orders",action="other"} 1',
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
    const { lines, series } = metricsOf({ resources: () => resources });
    expect(await series("compute_endpoint_operations_in_flight")).toEqual([
      'compute_endpoint_operations_in_flight{action="start_compute"} 2',
    ]);
    resources = [];
    expect((await lines()).filter((line) => /name="(orders|crm)"/.test(line))).toEqual([]);
    expect(await series("compute_endpoint_operations_in_flight")).toEqual([
      'compute_endpoint_operations_in_flight{action="start_compute"} 0',
    ]);
  });

  test("a spec that cannot be read, no status, a broken time → the scrape still answers", async () => {
    const { series } = metricsOf({
      resources: () => [
        resource("broken", {}, { type: "Neither" }),
        resource("odd", { operations: [operation("start_compute", "running", "yesterday")] }),
      ],
    });
    expect((await series("compute_endpoint_info"))[0]).toBe(
      'compute_endpoint_info{namespace="shop",name="broken",project_id="green-fox-123456",branch_id="",endpoint_id="",type=""} 1',
    );
    expect(await series("compute_endpoint_operation_oldest_in_flight_seconds")).toEqual([]);
  });
});

test.each([
  ["After", true, "none", 3_600],
  ["ServiceDefault", true, "none", 3_600],
  ["After", true, "never", undefined],
  ["After", false, "none", undefined],
  ["Never", true, "none", undefined],
  [undefined, true, "none", undefined],
])(
  "suspend mode %s, running: %s, schedule %s → unsuspended for %s s",
  async (mode, isActive, activeSchedule, seconds) => {
    const never = { name: "never", schedule: "0 8 * * *", durationSeconds: 3_600, suspend: { mode: "Never" } };
    const suspend = mode && { suspend: { mode, ...(mode === "After" && { afterSeconds: 300 }) }, schedules: [never] };
    const used = { activeSeconds: 0, minUnitSeconds: 0, maxUnitSeconds: 0, starts: 1 };
    const usage = { ...used, isActive, sinceTime: "2026-11-21T10:00:00Z", asOfTime: "2026-11-21T11:00:00Z" };
    const { series } = metricsOf({ resources: () => [resource("orders", { usage, activeSchedule }, suspend || {})] });
    const name = 'compute_endpoint_unsuspended_seconds{namespace="shop",name="orders"}';
    expect(await series("compute_endpoint_unsuspended_seconds")).toEqual(seconds ? [`${name} ${seconds}`] : []);
  },
);

describe("the process", () => {
  test("reconciles → by result, an error also as one", async () => {
    const metrics = metricsOf({ activeWorkers: () => 1 });
    metrics.reconciles.reconcileEnded("requeue_after", 0.02);
    metrics.reconciles.reconcileEnded("error", 0.02);
    const values = (await metrics.series("controller_runtime_reconcile_total")).map((line) => line.split(" ")[1]);
    expect(values).toEqual(["0", "1", "0", "1"]);
    expect((await metrics.series("controller_runtime_reconcile_errors_total"))[0]).toMatch(/ 1$/);
    expect((await metrics.series("controller_runtime_active_workers"))[0]).toMatch(/ 1$/);
  });

  test("the watch → no silence before the first list", async () => {
    const { series } = metricsOf();
    expect(await series("reflector_silent_seconds")).toEqual([]);
    expect(await series("reflector_synced")).toEqual(['reflector_synced{name="computeendpoint"} 0']);
  });

  test("a control plane of a team → series of its own, which go with it; the settings' series stay", async () => {
    const name = "ControlPlane/shop/own";
    const throttled = { TooManyRequests: 0, HeldBack: 1, BudgetUsedUp: 0 };
    const own = { ...connectedPlane(name), counts: { calls: 1, throttled } };
    let controlPlanes: readonly ReturnType<typeof connectedPlane>[] = [connectedPlane("settings"), own];
    const { series } = metricsOf({ controlPlanes: () => controlPlanes });
    expect(await series("control_plane_calls_total")).toEqual([
      'control_plane_calls_total{control_plane="settings"} 0',
      `control_plane_calls_total{control_plane="${name}"} 1`,
    ]);
    expect(await series("control_plane_throttled_total")).toContain(
      `control_plane_throttled_total{reason="HeldBack",control_plane="${name}"} 1`,
    );
    controlPlanes = controlPlanes.slice(0, 1);
    expect(await series("control_plane_calls_total")).toHaveLength(1);
    expect(await series("control_plane_throttled_total")).toHaveLength(3);
  });
});
