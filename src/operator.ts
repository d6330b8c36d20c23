import type { Config } from "./config.ts";
import { createControlPlane } from "./control-plane/create-control-plane.ts";
import { createProjectView } from "./control-plane/create-project-view.ts";
import { withCredentialGate } from "./control-plane/credential-gate.ts";
import type { KeySource } from "./control-plane/key-source.ts";
import { withThrottleGate } from "./control-plane/throttle-gate.ts";
import type { EffectPermit } from "./domain/effect-permit.ts";
import type { ResourceKey } from "./domain/resource-store.ts";
import { readClusterId } from "./kubernetes/cluster.ts";
import { createConnection, type KubernetesConnection } from "./kubernetes/connection.ts";
import type { CredentialSource } from "./kubernetes/credentials.ts";
import { createEventRecorder } from "./kubernetes/event-recorder.ts";
import { createResourceWatch, type ResourceWatch } from "./kubernetes/resource-watch.ts";
import { CreateTurns } from "./reconcile/create-turns.ts";
import { Ledger } from "./reconcile/ledger.ts";
import { ProjectLanes } from "./reconcile/project-lanes.ts";
import { ProjectPoller } from "./reconcile/project-poller.ts";
import { Reconciler } from "./reconcile/reconciler.ts";
import type { Service } from "./reconcile/service.ts";
import { withPermit } from "./reconcile/with-permit.ts";
import type { Clock } from "./runtime/clock.ts";
import { createEffectGate } from "./runtime/effect-gate.ts";
import { createWorkQueue, type WorkQueue } from "./runtime/work-queue.ts";
import { createWorkerPool, type WorkerPool } from "./runtime/worker-pool.ts";
import type { Logger } from "./telemetry/logger.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import { startHealthServer, startMetricsServer } from "./telemetry/telemetry-servers.ts";

/** What the operator is made from. Everything that differs between a test and production comes in here. */
export interface OperatorOptions {
  readonly config: Config;
  readonly credentials: CredentialSource;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** This process among its replicas, for instance the pod's name. */
  readonly instance: string;
  /** 0 up to 1. */
  readonly random: () => number;
}

/** An operator that runs. */
export interface RunningOperator {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Lets running passes end, for at most `shutdownMs`, then closes everything. Answers whether they ended in time. */
  stop(): Promise<boolean>;
}

/** One write at the service takes at most this long; the permit must cover it. */
const writeTimeoutMs = 8_000;

/** Passes get this long to end; the pod's grace period is longer. */
const shutdownMs = 20_000;
const flushMs = 2_000;

/**
 * Wires the operator and starts it.
 *
 * @throws KubernetesError when the API server cannot be asked for the cluster's identity; Error when an address cannot
 * be listened on.
 */
export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const { config, clock, logger } = options;
  const connection = createConnection({
    credentials: options.credentials,
    clock,
    userAgent: `endpoint-operator/${options.version}`,
  });
  try {
    const clusterId = config.clusterId ?? (await readClusterId(connection));
    const parts = assemble({ ...options, connection, clusterId });
    const health = await startHealthServer({
      address: config.healthAddress,
      readyChecks: [readyCheck(parts.watch)],
      clock,
      logger,
    });
    const metrics = await startMetricsServer({ address: config.metricsAddress, metrics: parts.metrics, clock, logger });
    parts.start();
    const ports = { metricsPort: metrics.port, healthPort: health.port };
    logger.info(
      { clusterId, controlPlaneUrl: config.controlPlaneUrl, workers: config.workers, ...ports },
      "operator started",
    );
    const stop = async () => {
      const isInTime = await parts.stop();
      await Promise.all([health.close(), metrics.close()]);
      await connection.close();
      logger.info({ isInTime }, "operator stopped");
      return isInTime;
    };
    return { ...ports, stop };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

interface Parts {
  readonly watch: ResourceWatch;
  readonly metrics: Metrics;
  start(): void;
  stop(): Promise<boolean>;
}

type Foundation = OperatorOptions & { readonly connection: KubernetesConnection; readonly clusterId: string };

function assemble(foundation: Foundation): Parts {
  const { config, clock, logger, connection, random } = foundation;
  const gate = createEffectGate();
  let orphanCount = 0;
  const watch = createResourceWatch({
    connection,
    namespaces: config.watchNamespaces,
    onChange: (key, origin) => queue.add(key, origin === "Listed" ? "Background" : "Urgent"),
    permit: gate,
    clock,
    logger,
    random,
  });
  const metrics: Metrics = createMetrics({
    clock,
    version: foundation.version,
    workers: config.workers,
    resources: () => watch.store.list(),
    orphanCount: () => orphanCount,
    queueStats: () => queue.stats(),
    watchStats: () => watch.stats(),
    leader: { leaseName: config.leaseName, isLeader: () => gate.mayStartEffect(0) },
  });
  const queue: WorkQueue<ResourceKey> = createWorkQueue<ResourceKey>({
    clock,
    idOf: ({ namespace, name }) => `${namespace}/${name}`,
    observer: metrics.queue,
  });
  const wake = (key: ResourceKey) => queue.add(key, "Background");
  const events = createEventRecorder({
    connection,
    permit: gate,
    clock,
    logger,
    instance: foundation.instance,
    random,
  });
  const { service, close } = connectService(foundation, { metrics, permit: gate, wake });
  const pool = createPool(foundation, { watch, metrics, queue, service, wake, events });
  const poller = new ProjectPoller({
    clock,
    store: watch.store,
    service,
    logger,
    projectPollMs: config.projectPollMs,
    wake,
    reportOrphans: (count) => {
      orphanCount = count;
    },
  });
  return {
    watch,
    metrics,
    start() {
      watch.start();
      pool.start();
      poller.start();
    },
    async stop() {
      poller.stop();
      await watch.stop();
      const isInTime = await pool.stop(shutdownMs);
      await events.flush(flushMs);
      gate.close();
      await close();
      return isInTime;
    },
  };
}

interface ServiceNeeds {
  readonly metrics: Metrics;
  readonly permit: EffectPermit;
  readonly wake: (key: ResourceKey) => void;
}

/** The control plane of the settings: client, gates for its one credential, and what all its resources share. */
function connectService(foundation: Foundation, { metrics, permit, wake }: ServiceNeeds) {
  const { config, clock, keys, clusterId, version } = foundation;
  const client = createControlPlane({
    baseUrl: config.controlPlaneUrl,
    keys,
    clock,
    observer: metrics.controlPlane,
    userAgent: `endpoint-operator/${version}`,
    writeTimeoutMs,
  });
  const gated = withCredentialGate(withThrottleGate(client, { clock, observer: metrics.controlPlane }), {
    clock,
    keys,
  });
  const controlPlane = withPermit(gated, permit, writeTimeoutMs);
  const service: Service = {
    identity: { clusterId, serviceUrl: client.serviceUrl },
    controlPlane,
    view: createProjectView({ controlPlane, clock }),
    lanes: new ProjectLanes({ clock, wake }),
    turns: new CreateTurns(wake),
  };
  return { service, close: () => client.close() };
}

interface PoolNeeds {
  readonly watch: ResourceWatch;
  readonly metrics: Metrics;
  readonly queue: WorkQueue<ResourceKey>;
  readonly service: Service;
  readonly wake: (key: ResourceKey) => void;
  readonly events: ReturnType<typeof createEventRecorder>;
}

function createPool(foundation: Foundation, { watch, metrics, queue, service, wake, events }: PoolNeeds): WorkerPool {
  const { config, clock, logger, random } = foundation;
  const reconciler = new Reconciler({
    clock,
    store: watch.store,
    ledger: new Ledger(),
    controlPlaneFor: () => service,
    events,
    metrics: metrics.operations,
    logger,
    policy: {
      createSettleMs: config.createSettleMs,
      operationPollMs: config.operationPollMs,
      resyncMs: config.resyncMs,
    },
    projectPollMs: config.projectPollMs,
    wake,
    random,
  });
  return createWorkerPool({
    clock,
    queue,
    workers: config.workers,
    work: (key) => reconciler.reconcile(key),
    onError: (key, error) => logger.error({ ...key, err: error }, "pass failed"),
    observer: metrics.passes,
  });
}

function readyCheck(watch: ResourceWatch) {
  return {
    name: "cache-synced",
    problem: () => (watch.hasSynced() ? undefined : "the first list of ComputeEndpoints is not complete yet"),
  };
}
