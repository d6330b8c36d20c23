import type { Config } from "./config.ts";
import { createControlPlane } from "./control-plane/create-control-plane.ts";
import { createProjectView } from "./control-plane/create-project-view.ts";
import { withCredentialGate } from "./control-plane/credential-gate.ts";
import type { KeySource } from "./control-plane/key-source.ts";
import { withRequestBudget } from "./control-plane/request-budget.ts";
import { withThrottleGate } from "./control-plane/throttle-gate.ts";
import { withUnreadableReport } from "./control-plane/unreadable-objects.ts";
import { withCallSpans, withRequestAttributes } from "./control-plane/with-call-spans.ts";
import { withLeaderFence } from "./control-plane/with-leader-fence.ts";
import type { Clock } from "./domain/clock.ts";
import type { ControlPlane } from "./domain/control-plane.ts";
import type { LeaderFence } from "./domain/leader-fence.ts";
import type { Logger } from "./domain/logger.ts";
import type { RequestBudget } from "./domain/request-budget.ts";
import { keyText, type ResourceKey } from "./domain/resource-store.ts";
import type { Tracer } from "./domain/tracer.ts";
import { ownNamespace } from "./kubernetes/cluster.ts";
import type { KubernetesConnection } from "./kubernetes/connection.ts";
import type { CredentialSource } from "./kubernetes/credentials.ts";
import { createEventRecorder } from "./kubernetes/event-recorder.ts";
import { type ElectionOptions, electedLeadership, type Leadership, soleLeadership } from "./kubernetes/leadership.ts";
import type { LeaseTiming } from "./kubernetes/lease-timing.ts";
import { createResourceWatch, type ResourceWatch } from "./kubernetes/resource-watch.ts";
import { CreateTurns } from "./reconcile/create-turns.ts";
import { Ledger } from "./reconcile/ledger.ts";
import { logNeededSinceMs, tellLogGap } from "./reconcile/log-need.ts";
import { ProjectLanes } from "./reconcile/project-lanes.ts";
import { ProjectPoller } from "./reconcile/project-poller.ts";
import { Reconciler } from "./reconcile/reconciler.ts";
import type { Service } from "./reconcile/service.ts";
import { type ClosableFence, createClosableFence } from "./runtime/closable-fence.ts";
import { createLivenessWatchdog, type LivenessWatchdog } from "./runtime/liveness-watchdog.ts";
import { createWorkQueue, type WorkQueue } from "./runtime/work-queue.ts";
import { createWorkerPool, type WorkerPool } from "./runtime/worker-pool.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "./telemetry/metrics.ts";

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
  /** @default the HTTP client for the control plane of the settings */
  readonly controlPlane?: ControlPlane;
  /** @default nothing is traced */
  readonly tracer?: Tracer | undefined;
  /** Sends the last traces; never rejects. @default there are none */
  readonly flushTraces?: (() => Promise<void>) | undefined;
  /** Shortened by tests. @default 15 s, 10 s, 2 s */
  readonly leaseTiming?: LeaseTiming;
}

/** One write at the service takes at most this long; the permit must cover it. Writes to Kubernetes take no longer. */
const writeTimeoutMs = 8_000;

/** A pass that may not do anything waits for so long before it looks at the service. */
const notPermittedPauseMs = 1_000;

/** Everything that an operator consists of, wired and not started. */
export interface OperatorParts {
  readonly watch: ResourceWatch;
  readonly metrics: Metrics;
  readonly liveness: LivenessWatchdog;
  readonly leadership: Leadership;
  readonly gate: ClosableFence;
  readonly events: ReturnType<typeof createEventRecorder>;
  /** Settles with the reason when the work had to be stopped for good. Never rejects. */
  readonly failed: Promise<string>;
  start(): void;
  /** Takes no key any more. Answers whether running passes ended in time. */
  stopWork(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** What the parts stand on. */
export type Foundation = OperatorOptions & {
  readonly connection: KubernetesConnection;
  readonly leaseConnection: KubernetesConnection;
  readonly clusterId: string;
  readonly identity: string;
};

/**
 * Wires the parts.
 *
 * @throws Error when the times of the lease do not fit, or the URL of the service is none.
 */
export function assembleOperator(foundation: Foundation): OperatorParts {
  const { config, clock, logger, connection, random, instance } = foundation;
  const failed = Promise.withResolvers<string>();
  let orphanCount = 0;
  let isLeading = false;
  const leadership = createLeadership(foundation, {
    mayLead: () => watch.hasSynced(),
    onLeading() {
      isLeading = true;
      for (const { key } of watch.store.list()) {
        wake(key);
      }
      pool.start();
      poller.start();
    },
    onLost(why) {
      gate.close();
      void stopWork(0);
      failed.resolve(why);
    },
  });
  const gate = createClosableFence(leadership);
  const watch = createResourceWatch({
    connection,
    namespaces: config.watchNamespaces,
    onChange(key, origin) {
      // Whoever begins to lead looks at everything, so a standby need not remember what has changed.
      if (isLeading) {
        queue.add(key, origin === "Listed" ? "Background" : "Urgent");
      }
    },
    onList: () => leadership.nudge(),
    fence: gate,
    clock,
    logger,
    random,
  });
  const metrics: Metrics = createOperatorMetrics(foundation, {
    watch,
    // The leader alone: otherwise two replicas would both report every resource.
    resources: () => (isLeading ? watch.store.list() : []),
    orphanCount: () => orphanCount,
    unreadableCount: () => unreadableCount(),
    queueStats: () => queue.stats(),
    isLeader: () => gate.mayStartEffect(0),
  });
  const queue: WorkQueue<ResourceKey> = createResourceQueue(foundation, metrics);
  const wake = (key: ResourceKey) => queue.add(key, "Background");
  const events = createEventRecorder({ connection, fence: gate, clock, logger, instance, random });
  // Work that was begun goes on before the backlog: at most one key of a project at a time.
  const callUp = (key: ResourceKey) => queue.add(key);
  const shared = { watch, metrics, ledger: new Ledger(), fence: gate, wake, callUp };
  const { service, unreadableCount, close } = connectService(foundation, shared);
  const pool = createPool(foundation, { ...shared, queue, service, events });
  const reportOrphans = (count: number) => {
    orphanCount = count;
  };
  const { projectPollMs } = config;
  const poller = new ProjectPoller({ clock, store: watch.store, service, logger, projectPollMs, wake, reportOrphans });
  const stopWork = (timeoutMs: number) => {
    poller.stop();
    return pool.stop(timeoutMs);
  };
  const liveness = createLiveness(foundation, queue, pool);
  return {
    ...{ watch, metrics, liveness, leadership, gate, events, failed: failed.promise, stopWork },
    start() {
      liveness.start();
      watch.start();
      leadership.start();
    },
    async close() {
      liveness.stop();
      await Promise.all([watch.stop(), close()]);
    },
  };
}

function createLiveness({ clock, config }: Foundation, queue: WorkQueue<ResourceKey>, pool: WorkerPool) {
  return createLivenessWatchdog({
    clock,
    queueStats: () => queue.stats(),
    activeWorkers: () => pool.activeWorkers(),
    workers: config.workers,
  });
}

interface MetricsSources extends Pick<MetricsOptions, "resources" | "orphanCount" | "unreadableCount" | "queueStats"> {
  readonly watch: ResourceWatch;
  readonly isLeader: () => boolean;
}

function createOperatorMetrics(foundation: Foundation, { watch, isLeader, ...sources }: MetricsSources): Metrics {
  const { clock, version, config } = foundation;
  return createMetrics({
    ...sources,
    clock,
    version,
    workers: config.workers,
    watchStats: () => watch.stats(),
    leader: { leaseName: config.leaseName, isLeader },
  });
}

function createResourceQueue({ clock }: Foundation, metrics: Metrics): WorkQueue<ResourceKey> {
  return createWorkQueue({
    clock,
    idOf: keyText,
    // Whoever applies thousands of resources at once does not hold up other namespaces.
    groupOf: ({ namespace }) => namespace,
    observer: metrics.queue,
  });
}

type LeadershipCallbacks = Pick<ElectionOptions, "mayLead" | "onLeading" | "onLost">;

function createLeadership(foundation: Foundation, callbacks: LeadershipCallbacks): Leadership {
  const { config, leaseConnection: connection, identity, clock, logger, random } = foundation;
  if (!config.leaderElection) {
    return soleLeadership(callbacks);
  }
  return electedLeadership({
    ...callbacks,
    connection,
    namespace: config.leaseNamespace ?? ownNamespace(connection),
    name: config.leaseName,
    identity,
    clock,
    logger,
    random,
    longestEffectMs: writeTimeoutMs,
    timing: foundation.leaseTiming,
  });
}

/** Until each reconcile has a caller of its own: every request is sent at once. */
const unlimited: RequestBudget = { take: async () => {}, pollsPerMinute: Number.POSITIVE_INFINITY };

interface ServiceNeeds {
  readonly watch: ResourceWatch;
  readonly metrics: Metrics;
  readonly ledger: Ledger;
  readonly fence: LeaderFence;
  readonly wake: (key: ResourceKey) => void;
  readonly callUp: (key: ResourceKey) => void;
}

/** The control plane of the settings: client, gates for its one credential, and what all its resources share. */
function connectService(foundation: Foundation, { watch, metrics, ledger, fence, wake, callUp }: ServiceNeeds) {
  const { clock, logger, keys, clusterId, tracer } = foundation;
  const { client, close } = createClient(foundation, { metrics, fence });
  const { controlPlane: reporting, unreadableCount } = withUnreadableReport(client, { clock, logger });
  const calls = tracer === undefined ? reporting : withCallSpans(reporting, tracer);
  const throttled = withThrottleGate(calls, { clock, observer: metrics.controlPlane });
  const gated = withCredentialGate(throttled, { clock, keys });
  const fenced = withLeaderFence(gated, fence, writeTimeoutMs);
  const controlPlane = withRequestBudget(fenced, unlimited, { urgency: "Urgent", namespace: "" });
  const identity = { clusterId, serviceUrl: client.serviceUrl };
  const neededSinceMs = (projectId: string) => logNeededSinceMs(watch.store.inProject(projectId), ledger, identity);
  const onGap = tellLogGap(logger, metrics.operations);
  const service: Service = {
    identity,
    controlPlane,
    view: createProjectView({ controlPlane, clock, neededSinceMs, onGap }),
    lanes: new ProjectLanes({ clock, wake: callUp }),
    turns: new CreateTurns({ clock, wake }),
  };
  return { service, unreadableCount, close };
}

/** The control plane that was injected, else the HTTP client. */
function createClient(foundation: Foundation, { metrics, fence }: Pick<ServiceNeeds, "metrics" | "fence">) {
  const { config, clock, keys, version, tracer, controlPlane } = foundation;
  if (controlPlane !== undefined) {
    return { client: controlPlane, close: async () => {} };
  }
  const client = createControlPlane({
    baseUrl: config.controlPlaneUrl,
    keys,
    clock,
    observer: tracer === undefined ? metrics.controlPlane : withRequestAttributes(metrics.controlPlane, tracer),
    userAgent: `endpoint-operator/${version}`,
    writeTimeoutMs,
    fence,
  });
  return { client, close: () => client.close() };
}

interface PoolNeeds extends ServiceNeeds {
  readonly queue: WorkQueue<ResourceKey>;
  readonly service: Service;
  readonly events: ReturnType<typeof createEventRecorder>;
}

function createPool(foundation: Foundation, needs: PoolNeeds): WorkerPool {
  const { watch, metrics, ledger, queue, service, wake, events, fence } = needs;
  const { config, clock, logger, random, tracer } = foundation;
  const reconciler = new Reconciler({
    clock,
    tracer,
    store: watch.store,
    ledger,
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
    // While the lease is too short for any effect, a pass would only read, and be in vain.
    work: async (key) =>
      fence.mayStartEffect(writeTimeoutMs)
        ? await reconciler.reconcile(key)
        : { kind: "RequeueAfter", delayMs: notPermittedPauseMs },
    onError: (key, error) => logger.error({ ...key, err: error }, "pass failed"),
    observer: metrics.reconciles,
  });
}
