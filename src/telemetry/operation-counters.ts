import { Counter, Histogram, type Registry } from "prom-client";
import type { EndedOperation, OperationMetrics } from "../domain/operation-metrics.ts";
import type { ResourceKey } from "../domain/resource-store.ts";
import type { BoundedLabel } from "./bounded-label.ts";

/** From a no-op of the service to the longest work seen to end well. */
const durationBucketsSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1_800];

/** Counts ended operations. Failures are counted per resource, and forgotten with it. */
export function createOperationCounters(registry: Registry, boundAction: BoundedLabel): OperationMetrics {
  const registers = [registry];
  const duration = new Histogram({
    name: "compute_endpoint_operation_duration_seconds",
    help: "How long operations took that have ended, by the service's own clock.",
    labelNames: ["action", "outcome"],
    buckets: durationBucketsSeconds,
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
  const failedActions = new Map<string, { readonly key: ResourceKey; readonly actions: Set<string> }>();

  const countFailure = (operation: EndedOperation, action: string) => {
    const { namespace, name } = operation;
    const id = `${namespace}/${name}`;
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
        duration.observe({ action, outcome }, durationMs / 1000);
      }
      if (outcome === "failed") {
        countFailure(operation, action);
      }
    },
    forgetResource: ({ namespace, name }) => {
      const id = `${namespace}/${name}`;
      for (const action of failedActions.get(id)?.actions ?? []) {
        failures.remove({ action, namespace, name });
      }
      failedActions.delete(id);
    },
  };
}
