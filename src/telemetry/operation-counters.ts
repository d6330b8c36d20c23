import { durationMsOf, type OperationMetrics, outcomeOf, type UsageTotals } from "../domain/operation.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { BoundedLabel, MetricsRegistry } from "./metrics-registry.ts";

/** The last bound is above the longest operation that was seen to succeed. */
const durationBucketsSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800];

export function createOperationCounters(registry: MetricsRegistry, boundAction: BoundedLabel): OperationMetrics {
  const duration = registry.histogram(
    "compute_endpoint_operation_duration_seconds",
    "Duration of operations that have ended, by the control plane's clock.",
    { labelNames: ["action", "outcome"], buckets: durationBucketsSeconds },
  );
  const total = registry.counter(
    "compute_endpoint_operations_total",
    "Operations that have ended, by cause: the operator (SpecChange or Drift), the control plane itself, or another client.",
    ["action", "outcome", "cause"],
  );
  const failures = registry.counter(
    "compute_endpoint_operation_failures_total",
    "Operations that have failed, by resource.",
    ["action", "namespace", "name"],
  );
  const gaps = registry.counter(
    "compute_endpoint_operation_log_gaps_total",
    "Gaps in the operation history: operations in them were not read, and are not counted.",
  );
  /** For each resource, the actions that have a failure counter. */
  const failedActions = new Map<string, Set<string>>();
  const usage = createUsageMetrics(registry);

  return {
    countEnded: (operation, key) => {
      const { namespace, name } = key;
      const action = boundAction(namespace, operation.action);
      const outcome = outcomeOf(operation) === "Succeeded" ? "succeeded" : "failed";
      const durationMs = durationMsOf(operation);
      total.inc({ action, outcome, cause: operation.cause });
      if (durationMs !== undefined) duration.observe({ action, outcome }, durationMs / 1000);
      if (outcome === "failed") {
        failures.inc({ action, namespace, name });
        const actions = failedActions.get(keyText(key)) ?? new Set();
        failedActions.set(keyText(key), actions.add(action));
      }
    },
    logCutShort: () => gaps.inc(),
    usageRead: usage.read,
    forgetResource: (key) => {
      usage.forget(key);
      for (const action of failedActions.get(keyText(key)) ?? []) {
        failures.remove({ action, namespace: key.namespace, name: key.name });
      }
      failedActions.delete(keyText(key));
    },
  };
}

/** A series appears with the first read of this process that proves a value. It never falls: that would count as a reset. */
function createUsageMetrics(registry: MetricsRegistry) {
  const shown = new Map<string, ResourceKey & UsageTotals>();
  const labelsOf = ({ namespace, name }: ResourceKey) => ({ namespace, name });
  const active = "An estimate of how long the compute ran.";
  const units =
    "The same, times its smallest (min) and its largest size (max). What the control plane counts is between them.";
  const starts = "How often the compute has started.";
  registry.ofEach(() => [...shown.values()], {
    compute_endpoint_active_seconds_total: [active, (each) => [[labelsOf(each), each.activeSeconds]]],
    compute_endpoint_unit_seconds_total: [
      units,
      (each) => [
        [{ ...labelsOf(each), bound: "min" }, each.minUnitSeconds],
        [{ ...labelsOf(each), bound: "max" }, each.maxUnitSeconds],
      ],
    ],
    compute_endpoint_starts_total: [starts, (each) => [[labelsOf(each), each.starts]]],
  });
  return {
    read: (key: ResourceKey, totals: UsageTotals) => {
      const known = shown.get(keyText(key));
      const before = known?.sinceTime === totals.sinceTime ? known : totals;
      shown.set(keyText(key), {
        ...labelsOf(key),
        sinceTime: totals.sinceTime,
        starts: Math.max(before.starts, totals.starts),
        activeSeconds: Math.max(before.activeSeconds, totals.activeSeconds),
        minUnitSeconds: Math.max(before.minUnitSeconds, totals.minUnitSeconds),
        maxUnitSeconds: Math.max(before.maxUnitSeconds, totals.maxUnitSeconds),
      });
    },
    forget: (key: ResourceKey) => shown.delete(keyText(key)),
  };
}
