import { Counter, Gauge, Histogram } from "prom-client";
import type { ReconcileObserver, ReconcileResult } from "../domain/worker.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The one controller of this process, as controller-runtime would call it. */
export const controllerName = "computeendpoint";

const reconcileBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60];

const reconcileResults: readonly ReconcileResult[] = ["success", "error", "requeue", "requeue_after"];

/**
 * Counts reconciles under controller-runtime's names, so that dashboards made for it work.
 *
 * @param workers the maximum number of reconciles that run at once.
 * @see sigs.k8s.io/controller-runtime, pkg/internal/controller/metrics (read 2026-11-21)
 */
export function createReconcileMetrics(registry: MetricsRegistry, workers: number): ReconcileObserver {
  const common = { labelNames: ["controller"], registers: [registry] };
  const controller = controllerName;
  const total = new Counter({
    ...common,
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller and result.",
    labelNames: ["controller", "result"],
  });
  const errors = new Counter({
    ...common,
    name: "controller_runtime_reconcile_errors_total",
    help: "Total number of reconciliation errors per controller.",
  });
  const seconds = new Histogram({
    ...common,
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of time per reconciliation per controller.",
    buckets: reconcileBucketsSeconds,
  });
  const most = new Gauge({
    ...common,
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles per controller.",
  });
  const active = new Gauge({
    ...common,
    name: "controller_runtime_active_workers",
    help: "Number of currently used workers per controller.",
  });
  // Present from the start: a counter that first appears at 1 looks to Prometheus as if it had never risen.
  for (const result of reconcileResults) {
    total.inc({ controller, result }, 0);
  }
  errors.inc({ controller }, 0);
  most.set({ controller }, workers);
  active.set({ controller }, 0);

  return {
    workersChanged: (count) => active.set({ controller }, count),
    reconcileEnded: (result, durationSeconds) => {
      total.inc({ controller, result });
      seconds.observe({ controller }, durationSeconds);
      if (result === "error") {
        errors.inc({ controller });
      }
    },
  };
}
