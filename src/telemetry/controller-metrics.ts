/** The metrics of the work queue, the reconciles and the watch, with the usual names of controllers. */
import { Counter, Gauge, Histogram } from "prom-client";
import type { WatchStats } from "../domain/resource-store.ts";
import type { ReconcileObserver, ReconcileResult, WorkQueueObserver, WorkQueueStats } from "../domain/worker.ts";
import { type MetricsRegistry, registerComputed, type Series } from "./metrics-registry.ts";

/** The statistics of the queue that each scrape reads. */
export type RunningStats = Pick<WorkQueueStats, "unfinishedWorkSeconds" | "longestRunningSeconds">;

/** The statistics of the watch that each scrape reads. */
export type ReflectorStats = Omit<WatchStats, "unlistedNamespaces" | "resources">;

/** The upper bounds of the wait histogram in seconds, from no wait to a long backlog. */
const waitBucketsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

/** The name of the only controller of this process, as a metric label. */
const controllerName = "computeendpoint";

const labels = { name: controllerName, controller: controllerName };

/**
 * Makes the metrics of the work queue, with the names that client-go and controller-runtime use.
 * @see sigs.k8s.io/controller-runtime, pkg/metrics/workqueue.go (read 2026-11-21)
 */
export function createWorkqueueMetrics(registry: MetricsRegistry, stats: () => RunningStats): WorkQueueObserver {
  const common = { labelNames: ["name", "controller"], registers: [registry] };
  const depth = new Gauge({ ...common, name: "workqueue_depth", help: "Current depth of the work queue." });
  const adds = new Counter({ ...common, name: "workqueue_adds_total", help: "Keys added to the work queue." });
  const waited = new Histogram({
    ...common,
    name: "workqueue_queue_duration_seconds",
    help: "How long a key stays in the work queue before it is taken.",
    buckets: waitBucketsSeconds,
  });
  const worked = new Histogram({
    ...common,
    name: "workqueue_work_duration_seconds",
    help: "How long the work on a key takes.",
    buckets: waitBucketsSeconds,
  });
  const retries = new Counter({
    ...common,
    name: "workqueue_retries_total",
    help: "Keys added again after a failure.",
  });
  registerRunning(registry, stats);
  // The series exists from the start: Prometheus cannot see the rise of a counter that first appears at 1.
  depth.set(labels, 0);
  adds.inc(labels, 0);
  retries.inc(labels, 0);
  return {
    added: () => adds.inc(labels),
    depthChanged: (now) => depth.set(labels, now),
    taken: (queuedSeconds) => waited.observe(labels, queuedSeconds),
    finished: (workSeconds) => worked.observe(labels, workSeconds),
    retried: () => retries.inc(labels),
  };
}

function registerRunning(registry: MetricsRegistry, stats: () => RunningStats): void {
  const labelNames = ["name", "controller"];
  registerComputed(registry, {
    labelNames,
    name: "workqueue_unfinished_work_seconds",
    help: "Seconds of work in progress that workqueue_work_duration_seconds does not contain yet; grows when work is stuck.",
    series: () => [[labels, stats().unfinishedWorkSeconds]],
  });
  registerComputed(registry, {
    labelNames,
    name: "workqueue_longest_running_processor_seconds",
    help: "How long the longest work in progress has been running.",
    series: () => [[labels, stats().longestRunningSeconds]],
  });
}

const reconcileBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60];

const reconcileResults: readonly ReconcileResult[] = ["success", "error", "requeue", "requeue_after"];

/**
 * Makes the metrics of reconciles, with controller-runtime's names, so that dashboards made for it work.
 * @param workers the maximum number of reconciles at the same time.
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
  // The series exist from the start: Prometheus cannot see the rise of a counter that first appears at 1.
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

/** Registers the metrics of the watch; the counters have the names of client-go. */
export function registerWatchMetrics(registry: MetricsRegistry, stats: () => ReflectorStats): void {
  const common = { labelNames: ["name"] };
  const series = (value: number | undefined): Iterable<Series> =>
    value === undefined ? [] : [[{ name: controllerName }, value]];
  registerComputed(registry, {
    ...{ ...common, type: "counter", name: "reflector_lists_total" },
    help: "Complete lists read from the API server.",
    series: () => series(stats().lists),
  });
  registerComputed(registry, {
    ...{ ...common, type: "counter", name: "reflector_watches_total" },
    help: "Watches opened on the API server.",
    series: () => series(stats().watches),
  });
  registerComputed(registry, {
    ...{ ...common, name: "reflector_synced", help: "1 once the first list is in the cache." },
    series: () => series(Number(stats().hasSynced)),
  });
  registerComputed(registry, {
    ...{ ...common, name: "reflector_watching", help: "1 while a watch is open." },
    series: () => series(Number(stats().isWatching)),
  });
  registerComputed(registry, {
    ...{ ...common, name: "reflector_silent_seconds" },
    help: "Seconds since the last byte of the API server, bookmarks included; grows when the watch is stale.",
    series: () => {
      const { silentForMs } = stats();
      return series(silentForMs && silentForMs / 1000);
    },
  });
}
