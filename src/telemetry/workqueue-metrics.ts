import { Counter, Gauge, Histogram } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";
import { controllerName } from "./reconcile-metrics.ts";

/** The observer of the work queue; durations in seconds. */
export interface WorkqueueMetrics {
  added(): void;
  depthChanged(depth: number): void;
  taken(queuedSeconds: number): void;
  finished(workSeconds: number): void;
  retried(): void;
}

/** The part of the queue statistics that each scrape reads. */
export interface WorkqueueStats {
  /** Sum over the keys that are being worked on. */
  readonly unfinishedWorkSeconds: number;
  /** 0 when nothing is being worked on. */
  readonly longestRunningSeconds: number;
}

/** From a key that is taken at once to one that waits behind a long backlog. */
const waitBucketsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

const labels = { name: controllerName, controller: controllerName };

/**
 * Shows the work queue under the names that client-go and controller-runtime use.
 *
 * @see sigs.k8s.io/controller-runtime, pkg/metrics/workqueue.go (read 2026-11-21)
 */
export function createWorkqueueMetrics(registry: MetricsRegistry, stats: () => WorkqueueStats): WorkqueueMetrics {
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
  // Present from the start: a counter that first appears at 1 looks to Prometheus as if it had never risen.
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

function registerRunning(registry: MetricsRegistry, stats: () => WorkqueueStats): void {
  const common = { labelNames: ["name", "controller"], registers: [registry] };
  const unfinished: Gauge = new Gauge({
    ...common,
    name: "workqueue_unfinished_work_seconds",
    help: "Seconds of work in progress that workqueue_work_duration_seconds does not contain yet; grows when work is stuck.",
    collect: () => unfinished.set(labels, stats().unfinishedWorkSeconds),
  });
  const longest: Gauge = new Gauge({
    ...common,
    name: "workqueue_longest_running_processor_seconds",
    help: "How long the longest work in progress has been running.",
    collect: () => longest.set(labels, stats().longestRunningSeconds),
  });
}
