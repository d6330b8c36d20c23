/** Puts all metrics of the process together. */
import type { ControlPlaneObserver, PlaneObserver } from "../domain/control-plane-requests.ts";
import type { OperationMetrics } from "../domain/operation.ts";
import type { SecretObserver } from "../domain/secret-store.ts";
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
import { createBoundedLabel, createMetricsRegistry, registerComputed } from "./metrics-registry.ts";
import { createOperationCounters } from "./operation-counters.ts";
import { createProcessMetrics, type ProcessMetrics } from "./process-metrics.ts";
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
  readonly ofProcess: ProcessMetrics;
  readonly access: SecretObserver;
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
  const ofProcess = createProcessMetrics(registry, options.version);
  const access = createAccessMetrics(registry, options.accesses ?? noAccesses);
  return {
    operations,
    reconciles,
    queue,
    controlPlane,
    ofProcess,
    access,
    render: (format) => renderScrape(registry, format),
  };
}
