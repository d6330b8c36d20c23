/** The metrics of ended operations: counts, durations and failures. */
import { Histogram } from "prom-client";
import type { EndedOperation, OperationMetrics } from "../domain/operation.ts";
import { keyText } from "../domain/resource-store.ts";
import type { BoundedLabel, MetricsRegistry } from "./metrics-registry.ts";

/**
 * The upper bounds of the duration histogram in seconds. The last one is above the longest operation that was seen to
 * succeed.
 */
const durationBucketsSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800];

/** The maximum length of an exemplar in characters, name and value together, from OpenMetrics. */
const longestExemplar = 128;

/** Makes the counters of ended operations. When a resource is gone, its failure counters are removed. */
export function createOperationCounters(registry: MetricsRegistry, boundAction: BoundedLabel): OperationMetrics {
  const duration = new Histogram({
    name: "compute_endpoint_operation_duration_seconds",
    help: "Duration of operations that have ended, by the control plane's clock.",
    labelNames: ["action", "outcome"],
    buckets: durationBucketsSeconds,
    enableExemplars: true,
    registers: [registry],
  });
  const total = registry.counter(
    "compute_endpoint_operations_total",
    "Operations that have ended, by cause: the operator (SpecChange), the control plane itself, or another client.",
    ["action", "outcome", "cause"],
  );
  const failures = registry.counter(
    "compute_endpoint_operation_failures_total",
    "Operations that have failed, by resource.",
    ["action", "namespace", "name"],
  );
  const gaps = registry.counter(
    "compute_endpoint_operation_log_gaps_total",
    "Gaps in the operation history: operations in them were not read or not waited for, and are not counted.",
  );
  /** For each resource, the actions that have a failure counter. */
  const failedActions = new Map<string, Set<string>>();

  return {
    countEnded: (operation) => {
      const { outcome, cause, durationMs, namespace, name } = operation;
      const action = boundAction(operation.action);
      total.inc({ action, outcome, cause });
      if (durationMs !== undefined && Number.isFinite(durationMs)) {
        const exemplarLabels = exemplarOf(operation);
        duration.observe({ labels: { action, outcome }, value: durationMs / 1000, exemplarLabels });
      }
      if (outcome === "failed") {
        failures.inc({ action, namespace, name });
        const actions = failedActions.get(keyText(operation)) ?? new Set();
        failedActions.set(keyText(operation), actions.add(action));
      }
    },
    logCutShort: () => gaps.inc(),
    forgetResource: (key) => {
      for (const action of failedActions.get(keyText(key)) ?? []) {
        failures.remove({ action, namespace: key.namespace, name: key.name });
      }
      failedActions.delete(keyText(key));
    },
  };
}

/**
 * Returns the exemplar with the operation's id. Without an id, or with a long one, it is empty, because prom-client
 * would throw.
 */
function exemplarOf({ operationId }: EndedOperation): Readonly<Record<string, string>> {
  const isAllowed = operationId !== "" && "operation_id".length + operationId.length <= longestExemplar;
  return isAllowed ? { operation_id: operationId } : {};
}
