/** Puts all metrics together, with those of the process itself. */
import { getHeapStatistics } from "node:v8";
import { Histogram } from "prom-client";
import type { ControlPlaneObserver, PlaneObserver } from "../domain/control-plane.ts";
import type { OperationMetrics } from "../domain/operation.ts";
import type { SecretObserver } from "../domain/resource-store.ts";
import type { ReconcileObserver, WorkQueueObserver } from "../domain/worker.ts";
import type { ComputeEndpoint } from "../resource/compute-endpoint.ts";
import { createControlPlaneMetrics } from "./control-plane-metrics.ts";
import {
  createReconcileMetrics,
  createWorkqueueMetrics,
  type ReflectorStats,
  type RunningStats,
  registerWatchMetrics,
} from "./controller-metrics.ts";
import {
  createBoundedLabel,
  createMetricsRegistry,
  type MetricsRegistry,
  registerComputed,
} from "./metrics-registry.ts";
import { createOperationCounters } from "./operation-counters.ts";
import { renderScrape, type Scrape, type ScrapeFormat } from "./render-scrape.ts";
import {
  type AccessMetricsOptions,
  createAccessMetrics,
  type ResourceGaugesOptions,
  registerResourceGauges,
} from "./resource-gauges.ts";

/** The sources of the metrics. The functions are called at each scrape and must not throw. */
export interface MetricsOptions extends Pick<ResourceGaugesOptions, "serviceNowMs" | "operationsAges"> {
  /** The version of this program. */
  readonly version: string;
  /** The maximum number of reconciles at the same time. */
  readonly workers: number;
  /** Returns every ComputeEndpoint of the cache. */
  readonly resources: () => readonly ComputeEndpoint[];
  /** The sources of the DatabaseAccess metrics. @default none */
  readonly accesses?: AccessMetricsOptions | undefined;
  /** Returns the number of endpoints that carry this cluster's token and belong to no resource. */
  readonly orphanCount: () => number;
  /** Returns the number of objects in the control plane's latest lists that could not be parsed. */
  readonly unreadableCount: () => number;
  readonly queueStats: () => RunningStats;
  readonly watchStats: () => ReflectorStats;
  readonly leader: { readonly leaseName: string; readonly isLeader: () => boolean };
}

/** All metrics of this process: ports that the other folders call, and the text of a scrape. */
export interface Metrics {
  readonly operations: OperationMetrics;
  readonly reconciles: ReconcileObserver;
  readonly queue: WorkQueueObserver;
  readonly controlPlane: ControlPlaneObserver & PlaneObserver;
  readonly access: SecretObserver;
  /** Reports the lateness of a timer. @param seconds how late the timer fired */
  readonly eventLoopDelayed: (seconds: number) => void;
  /** Returns the text of one scrape. */
  render(format: ScrapeFormat): Promise<Scrape>;
}

const noAccesses: AccessMetricsOptions = { resources: () => [], nowMs: () => 0 };

/** The maximum number of actions, and of states, in labels: about three times the known ones. */
const maxActions = 100;
const maxStates = 20;

/** Makes a registry with every metric. @see docs/metrics.md */
export function createMetrics(options: MetricsOptions): Metrics {
  const registry = createMetricsRegistry();
  const boundAction = createBoundedLabel(maxActions);
  const operations = createOperationCounters(registry, boundAction);
  registerResourceGauges(registry, {
    resources: options.resources,
    serviceNowMs: options.serviceNowMs,
    operationsAges: options.operationsAges,
    boundAction,
    boundState: createBoundedLabel(maxStates),
  });
  registerComputed(registry, {
    name: "compute_endpoint_orphans",
    help: "Endpoints that carry the token of this cluster and belong to no resource.",
    series: () => [[{}, options.orphanCount()]],
  });
  const controlPlane = createControlPlaneMetrics(registry, options.unreadableCount);
  const reconciles = createReconcileMetrics(registry, options.workers);
  const queue = createWorkqueueMetrics(registry, options.queueStats);
  registerWatchMetrics(registry, options.watchStats);
  const { leaseName, isLeader } = options.leader;
  registerComputed(registry, {
    name: "leader_election_master_status",
    help: "1 while this process is the leader and may act.",
    labelNames: ["name"],
    series: () => [[{ name: leaseName }, Number(isLeader())]],
  });
  const eventLoopDelayed = createProcessMetrics(registry, options.version);
  const access = createAccessMetrics(registry, options.accesses ?? noAccesses);
  return {
    operations,
    reconciles,
    queue,
    controlPlane,
    eventLoopDelayed,
    access,
    render: (format) => renderScrape(registry, format),
  };
}

/**
 * The upper bounds of the lateness histogram in seconds, from the usual lateness of a timer to one that probes notice.
 */
const delayBucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Makes the metrics of the process that every dashboard of an operator shows. @returns a function that reports how late a
 * timer fired, in seconds
 */
function createProcessMetrics(registry: MetricsRegistry, version: string): Metrics["eventLoopDelayed"] {
  registerComputed(registry, {
    name: "endpoint_operator_build_info",
    help: "Always 1; the label version names the running version.",
    labelNames: ["version"],
    series: () => [[{ version }, 1]],
  });
  registerComputed(registry, {
    name: "process_start_time_seconds",
    help: "When the process started, in seconds since 1970.",
    series: () => [[{}, Math.round(performance.timeOrigin / 1000)]],
  });
  registerComputed(registry, {
    name: "process_resident_memory_bytes",
    help: "Memory the process holds.",
    series: () => [[{}, process.memoryUsage.rss()]],
  });
  registerComputed(registry, {
    name: "nodejs_heap_size_used_bytes",
    help: "Memory that the JavaScript heap uses.",
    series: () => [[{}, getHeapStatistics().used_heap_size]],
  });
  const delay = new Histogram({
    name: "endpoint_operator_event_loop_delay_seconds",
    help: "How late timers fire, measured ten times a second: how long the event loop was blocked.",
    buckets: delayBucketsSeconds,
    registers: [registry],
  });
  registerComputed(registry, {
    name: "process_cpu_seconds_total",
    help: "Processor time the process has used, user and system.",
    type: "counter",
    series: () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1_000_000]];
    },
  });
  return (seconds) => delay.observe(seconds);
}
