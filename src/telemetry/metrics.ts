import { getHeapStatistics } from "node:v8";
import type { ReflectorStats } from "../domain/resource-store.ts";
import type { ReconcileObserver, ReconcileResult, WorkQueueObserver, WorkQueueStats } from "../domain/worker.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseBranch } from "../resource/database-branch.ts";
import { type ControlPlaneSources, createControlPlaneMetrics } from "./control-plane-metrics.ts";
import { createBoundedLabel, MetricsRegistry } from "./metrics-registry.ts";
import { createOperationCounters } from "./operation-counters.ts";
import {
  createAccessMetrics,
  type ResourceGaugesOptions,
  registerBranchGauges,
  registerResourceGauges,
} from "./resource-gauges.ts";

/** The sources of the metrics. Their functions are called at each scrape, and must not throw. */
export interface MetricsOptions extends ResourceGaugesOptions, ControlPlaneSources {
  readonly version: string;
  readonly workers: number;
  /** Returns the number of requests to the API server in flight: each is a worker at work. */
  readonly activeWorkers: () => number;
  readonly accesses: () => readonly DatabaseAccess[];
  readonly branches: () => readonly DatabaseBranch[];
  /** Returns the number of endpoints whose name has this cluster's token and that no resource owns. */
  readonly orphanCount: () => number;
  readonly queueStats: () => WorkQueueStats;
  readonly watchStats: () => ReflectorStats;
  readonly leader: { readonly leaseName: string; readonly isLeader: () => boolean };
}

export type Metrics = ReturnType<typeof createMetrics>;

/** The maximum number of different actions in labels. About a third of this number is known. */
const maxActions = 100;

export function createMetrics(options: MetricsOptions) {
  const registry = new MetricsRegistry();
  const boundAction = createBoundedLabel(maxActions);
  const operations = createOperationCounters(registry, boundAction);
  registerResourceGauges(registry, options, boundAction);
  const orphans = "Endpoints that carry the token of this cluster and belong to no resource.";
  registry.values({ compute_endpoint_orphans: [orphans, options.orphanCount] });
  const controlPlane = createControlPlaneMetrics(registry, options);
  const reconciles = createReconcileMetrics(registry, options);
  const queue = createWorkqueueMetrics(registry, options.queueStats);
  registerWatchMetrics(registry, options.watchStats);
  const { leaseName, isLeader } = options.leader;
  const leader = "1 while this process is the leader and may act.";
  registry.values({ leader_election_master_status: [leader, () => Number(isLeader())] }, { name: leaseName });
  const eventLoopDelayed = createProcessMetrics(registry, options.version);
  const access = createAccessMetrics(registry, options.accesses, options.nowMs);
  registerBranchGauges(registry, options.branches, options.nowMs);
  const render = () => registry.metrics();
  return { operations, reconciles, queue, controlPlane, eventLoopDelayed, access, registry, render };
}

const controller = "computeendpoint";

const queueLabels = { name: controller, controller };

const waitBucketsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

/** @see sigs.k8s.io/controller-runtime, pkg/metrics/workqueue.go (read 2026-11-21) */
function createWorkqueueMetrics(registry: MetricsRegistry, stats: () => WorkQueueStats): WorkQueueObserver {
  const labelNames = ["name", "controller"] as const;
  const ofWait = { labelNames, buckets: waitBucketsSeconds };
  const adds = registry.counter("workqueue_adds_total", "Keys added to the work queue.", labelNames, [queueLabels]);
  const waited = registry.histogram(
    "workqueue_queue_duration_seconds",
    "How long a key stays in the work queue before it is taken.",
    ofWait,
  );
  const worked = registry.histogram("workqueue_work_duration_seconds", "How long the work on a key takes.", ofWait);
  const retries = registry.counter("workqueue_retries_total", "Keys added again after a failure.", labelNames, [
    queueLabels,
  ]);
  const unfinished =
    "Seconds of work in progress that workqueue_work_duration_seconds does not contain yet; grows when work is stuck.";
  const longest = "How long the longest work in progress has been running.";
  const now = {
    workqueue_depth: ["Current depth of the work queue.", () => stats().depth],
    workqueue_unfinished_work_seconds: [unfinished, () => stats().unfinishedWorkSeconds],
    workqueue_longest_running_processor_seconds: [longest, () => stats().longestRunningSeconds],
  } as const;
  registry.values(now, queueLabels);
  return {
    added: () => adds.inc(queueLabels),
    taken: (queuedSeconds) => waited.observe(queueLabels, queuedSeconds),
    finished: (workSeconds) => worked.observe(queueLabels, workSeconds),
    retried: () => retries.inc(queueLabels),
  };
}

const reconcileBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60];

const reconcileResults: readonly ReconcileResult[] = ["success", "error", "requeue", "requeue_after"];

/** @see sigs.k8s.io/controller-runtime, pkg/internal/controller/metrics (read 2026-11-21) */
function createReconcileMetrics(
  registry: MetricsRegistry,
  { workers, activeWorkers }: Pick<MetricsOptions, "workers" | "activeWorkers">,
): ReconcileObserver {
  const labelNames = ["controller"] as const;
  const total = registry.counter(
    "controller_runtime_reconcile_total",
    "Total number of reconciliations per controller and result.",
    ["controller", "result"],
    reconcileResults.map((result) => ({ controller, result })),
  );
  const errors = registry.counter(
    "controller_runtime_reconcile_errors_total",
    "Total number of reconciliation errors per controller.",
    labelNames,
    [{ controller }],
  );
  const duration = registry.histogram(
    "controller_runtime_reconcile_time_seconds",
    "Length of time per reconciliation per controller.",
    { labelNames, buckets: reconcileBucketsSeconds },
  );
  const most = "Maximum number of requests to the API server at the same time (WORKERS).";
  const current = "Number of requests to the API server in flight, of at most WORKERS.";
  const requests = {
    controller_runtime_max_concurrent_reconciles: [most, () => workers],
    controller_runtime_active_workers: [current, activeWorkers],
  } as const;
  registry.values(requests, { controller });
  return {
    reconcileEnded: (result, seconds) => {
      total.inc({ controller, result });
      duration.observe({ controller }, seconds);
      if (result === "error") errors.inc({ controller });
    },
  };
}

function registerWatchMetrics(registry: MetricsRegistry, stats: () => ReflectorStats): void {
  const silence = "Seconds since the last byte of the API server, bookmarks included; grows when the watch is stale.";
  const silentSeconds = ({ silentForMs }: ReflectorStats) => silentForMs && silentForMs / 1_000;
  const metrics = {
    reflector_lists_total: ["Complete lists read from the API server.", () => stats().lists],
    reflector_watches_total: ["Watches opened on the API server.", () => stats().watches],
    reflector_synced: ["1 once the first list is in the cache.", () => Number(stats().hasSynced)],
    reflector_watching: ["1 while a watch is open.", () => Number(stats().isWatching)],
    reflector_silent_seconds: [silence, () => silentSeconds(stats())],
  } as const;
  registry.values(metrics, { name: controller });
}

/** From the usual lateness to one that makes probes fail. */
const delayBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Makes the metrics of the process. @returns a function that reports how late a timer has fired, in seconds */
function createProcessMetrics(registry: MetricsRegistry, version: string) {
  const build = "Always 1; the label version names the running version.";
  registry.values({ endpoint_operator_build_info: [build, () => 1] }, { version });
  const startedSeconds = Math.round(performance.timeOrigin / 1_000);
  const cpuSeconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000_000;
  const cpu = "Processor time the process has used, user and system.";
  registry.values({
    process_start_time_seconds: ["When the process started, in seconds since 1970.", () => startedSeconds],
    process_resident_memory_bytes: ["Memory the process holds.", () => process.memoryUsage.rss()],
    nodejs_heap_size_used_bytes: ["Memory that the JavaScript heap uses.", () => getHeapStatistics().used_heap_size],
    process_cpu_seconds_total: [cpu, () => cpuSeconds(process.cpuUsage())],
  });
  const delay = registry.histogram(
    "endpoint_operator_event_loop_delay_seconds",
    "How late timers fire, measured ten times a second: how long the event loop was blocked.",
    { buckets: delayBucketsSeconds },
  );
  return (seconds: number) => delay.observe(seconds);
}
