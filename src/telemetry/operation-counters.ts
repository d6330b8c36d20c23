import { Counter, Histogram } from "prom-client";
import type { EndedOperation, OperationMetrics } from "../domain/operation-metrics.ts";
import { keyText, type ResourceKey } from "../domain/resource-store.ts";
import type { BoundedLabel } from "./bounded-label.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** From a no-op of the service to the longest work seen to end well. */
const durationBucketsSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800];

/** Name and value of an exemplar together, in characters: what OpenMetrics allows. */
const longestExemplar = 128;

/** Counts ended operations. Failures are counted per resource, and forgotten with it. */
export function createOperationCounters(registry: MetricsRegistry, boundAction: BoundedLabel): OperationMetrics {
  const registers = [registry];
  const duration = new Histogram({
    name: "compute_endpoint_operation_duration_seconds",
    help: "How long operations took that have ended, by the service's own clock.",
    labelNames: ["action", "outcome"],
    buckets: durationBucketsSeconds,
    enableExemplars: true,
    registers,
  });
  const total = new Counter({
    name: "compute_endpoint_operations_total",
    help: "Operations that have ended. cause: SpecChange (a call of ours), ControlPlane (the service itself), Other.",
    labelNames: ["action", "outcome", "cause"],
    registers,
  });
  const failures = new Counter({
    name: "compute_endpoint_operation_failures_total",
    help: "Operations that have ended in failure, by resource.",
    labelNames: ["action", "namespace", "name"],
    registers,
  });
  const gaps = new Counter({
    name: "compute_endpoint_operation_log_gaps_total",
    help: "Parts of the operations that were not read back to, or not waited for: what ended there is not counted.",
    registers,
  });
  const failedActions = new Map<string, { readonly key: ResourceKey; readonly actions: Set<string> }>();

  const countFailure = (operation: EndedOperation, action: string) => {
    const { namespace, name } = operation;
    const id = keyText(operation);
    const known = failedActions.get(id) ?? { key: { namespace, name }, actions: new Set() };
    failedActions.set(id, known);
    known.actions.add(action);
    failures.inc({ action, namespace, name });
  };

  return {
    countEnded: (operation) => {
      const action = boundAction(operation.action);
      const { outcome, cause, durationMs } = operation;
      total.inc({ action, outcome, cause });
      if (durationMs !== undefined && Number.isFinite(durationMs)) {
        const exemplarLabels = exemplarOf(operation);
        duration.observe({ labels: { action, outcome }, value: durationMs / 1000, exemplarLabels });
      }
      if (outcome === "failed") {
        countFailure(operation, action);
      }
    },
    logCutShort: () => gaps.inc(),
    forgetResource: ({ namespace, name }) => {
      const id = keyText({ namespace, name });
      for (const action of failedActions.get(id)?.actions ?? []) {
        failures.remove({ action, namespace, name });
      }
      failedActions.delete(id);
    },
  };
}

/** Leads from a slow bucket to the operation in the service's log. None when it is too long: that would throw. */
function exemplarOf({ operationId }: EndedOperation): Readonly<Record<string, string>> {
  const isAllowed = operationId !== "" && "operation_id".length + operationId.length <= longestExemplar;
  return isAllowed ? { operation_id: operationId } : {};
}
