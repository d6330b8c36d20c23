import { type AccessParts, assembleAccess } from "./access-parts.ts";
import type { Config } from "./config.ts";
import { createControlPlane } from "./control-plane/create-control-plane.ts";
import { createCredentialGate } from "./control-plane/credential-gate.ts";
import { type CallGuard, guardCalls, throttleGuard, withLeaderFence } from "./control-plane/guard-calls.ts";
import type { KeySource } from "./control-plane/key-source.ts";
import { createRequestBudget, withRequestBudget } from "./control-plane/request-budget.ts";
import { withUnreadableReport } from "./control-plane/unreadable-objects.ts";
import { withCallSpans, withRequestAttributes } from "./control-plane/with-call-spans.ts";
import type { GrantOf } from "./decide/project-grant.ts";
import { type BranchObjects, guardBranchObjects } from "./domain/branch-objects.ts";
import type { Clock } from "./domain/clock.ts";
import type { ControlPlane } from "./domain/control-plane.ts";
import { type LeaderFence, LeaderFenceError } from "./domain/leader-fence.ts";
import type { Logger } from "./domain/logger.ts";
import type { RequestBudget } from "./domain/request-budget.ts";
import type { ResourceKey } from "./domain/resource-store.ts";
import type { Tracer } from "./domain/tracer.ts";
import { assembleGrants } from "./grant-parts.ts";
import { createEventRecorder } from "./kubernetes/events/event-recorder.ts";
import { ownNamespace } from "./kubernetes/http/cluster.ts";
import type { KubernetesConnection } from "./kubernetes/http/connection.ts";
import type { CredentialSource } from "./kubernetes/http/credentials.ts";
import {
  type ElectionOptions,
  electedLeadership,
  type Leadership,
  soleLeadership,
} from "./kubernetes/lease/leadership.ts";
import type { LeaseTiming } from "./kubernetes/lease/lease-timing.ts";
import { createResourceWatch, type ResourceWatch } from "./kubernetes/resource-watch.ts";
import { ProjectOperations } from "./operations/reader.ts";
import type { ControlPlaneAccess, ObjectsAccess } from "./reconcile/control-plane-access.ts";
import { ProjectKeys } from "./reconcile/project-keys.ts";
import type { ProjectKind } from "./reconcile/project-kind.ts";
import { ProjectReconciler } from "./reconcile/project-reconciler.ts";
import { Projects } from "./reconcile/projects.ts";
import { type ClosableFence, createClosableFence } from "./runtime/closable-fence.ts";
import { createLivenessWatchdog, type LivenessWatchdog } from "./runtime/liveness-watchdog.ts";
import { createWorkQueue, type WorkQueue } from "./runtime/work-queue.ts";
import { createWorkerPool, type WorkerPool } from "./runtime/worker-pool.ts";
import { createMetrics, type Metrics, type MetricsOptions } from "./telemetry/metrics.ts";

/** What the operator is made from. Everything that differs between tests and production is passed in here. */
export interface OperatorOptions {
  readonly config: Config;
  readonly credentials: CredentialSource;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  /** The name of this process among its replicas, for instance the pod's name. */
  readonly instance: string;
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number;
  /** The control plane; tests pass one in. @default the HTTP client for the control plane of the settings */
  readonly controlPlane?: ControlPlane & { readonly objects?: BranchObjects };
  /** The certificate authority of the databases as PEM. @default public authorities */
  readonly databaseAuthority?: string | undefined;
  /** Records spans. @default nothing is traced */
  readonly tracer?: Tracer | undefined;
  /** Sends the last traces; never rejects. @default there are none */
  readonly flushTraces?: (() => Promise<void>) | undefined;
  /** The times of the Lease; tests use shorter ones. @default 15 s, 10 s, 2 s */
  readonly leaseTiming?: LeaseTiming;
}

/** The time limit of one write to the control plane or to Kubernetes, in milliseconds. The lease must last longer. */
const writeTimeoutMs = 8_000;

/** If the lease is too short for an effect, the operator checks again after this many milliseconds. */
const notPermittedPauseMs = 1_000;

/** All parts of an operator, wired and not started. */
export interface OperatorParts {
  readonly watch: ResourceWatch;
  readonly metrics: Metrics;
  readonly liveness: LivenessWatchdog;
  readonly leadership: Leadership;
  readonly gate: ClosableFence;
  readonly events: ReturnType<typeof createEventRecorder>;
  /** Resolves with the reason when the work had to stop for good. Never rejects. */
  readonly failed: Promise<string>;
  start(): void;
  /** Stops taking keys from the queue. @returns whether the running reconciles ended in time */
  stopWork(timeoutMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** What all parts are made from. */
export type Foundation = OperatorOptions & {
  readonly connection: KubernetesConnection;
  readonly leaseConnection: KubernetesConnection;
  readonly clusterId: string;
  readonly identity: string;
};

/**
 * Wires the parts of the operator.
 * @throws Error when the times of the lease do not fit, or the URL of the control plane is not valid.
 */
export function assembleOperator(foundation: Foundation): OperatorParts {
  const { config, clock, logger, connection, random, instance } = foundation;
  const [failed, projectKeys] = [Promise.withResolvers<string>(), new ProjectKeys()];
  let isLeading = false;
  const enqueue = (key: ResourceKey, priority: "Urgent" | "Background") => {
    for (const projectId of projectKeys.noteChange(key, watch.store.get(key))) {
      queue.add(projectId, priority);
    }
    accessParts.endpointChanged(key, priority);
  };
  const stop = (why: string) => {
    gate.close();
    void pool.stop(0);
    failed.resolve(why);
  };
  const cannotList = (error: unknown) => {
    logger.error({ err: error }, "cannot list the resources after winning the lease; the process stops");
    stop("the resources could not be listed after winning the lease");
  };
  const leadership = createLeadership(foundation, {
    mayLead: () => watch.hasSynced(),
    onLeading: () => void startLeading().catch(cannotList),
    onLost: stop,
  });
  const startLeading = async () => {
    // A watch may have missed events before. The first effect needs the resources as they are stored now (S5 in
    // docs/reliability.md).
    await Promise.all([watch.listConsistently(), grants.readNow()]);
    isLeading = true;
    for (const { key } of watch.store.list()) {
      enqueue(key, "Background");
    }
    accessParts.lead();
    pool.start();
  };
  const gate = createClosableFence(leadership);
  const watch = createResourceWatch({
    connection,
    namespaces: config.watchNamespaces,
    onChange(key, origin) {
      // A new leader reconciles every resource, so a standby need not remember changes.
      if (isLeading) enqueue(key, origin === "Listed" ? "Background" : "Urgent");
    },
    onList: () => leadership.nudge(),
    ...{ fence: gate, clock, logger, random },
  });
  const resources = () => (isLeading ? watch.store.list() : []);
  const grants = assembleGrants({
    ...{ connection, clock, logger, random, resources, enqueue },
    ...{ namespaces: config.watchNamespaces, mode: config.projectGrants, projectPollMs: config.projectPollMs },
  });
  const metrics: Metrics = createOperatorMetrics(foundation, {
    ...{ watch, unreadableCount: () => unreadableCount(), queueStats: () => queue.stats() },
    // Only the leader reports these metrics. Otherwise two replicas would both report every resource.
    resources,
    accesses: { resources: () => accessParts.resources(), nowMs: () => clock.nowMs() },
    ...{ projects: () => projects, isLeader: () => gate.mayStartEffect(0) },
  });
  const queue = createProjectQueue(foundation, metrics, projectKeys);
  const events = createEventRecorder({ connection, fence: gate, clock, logger, instance, random });
  const onNewKey = () => retryRefused(projects, queue);
  const { access, unreadableCount, close } = connectControlPlane(foundation, { metrics, fence: gate, onNewKey });
  const projects = createProjects(foundation, metrics);
  const needs = { watch, metrics, queue, access, events, grantOf: grants.grantOf, fence: gate };
  const accessParts = createAccess(foundation, needs);
  const pool = createPool(foundation, { ...needs, projects, kinds: [accessParts.kind] });
  const liveness = createLiveness(foundation, queue, pool);
  return {
    ...{ watch, metrics, liveness, leadership, gate, events, failed: failed.promise },
    stopWork: (timeoutMs) => pool.stop(timeoutMs),
    start() {
      for (const part of [liveness, watch, grants, accessParts, leadership]) {
        part.start();
      }
    },
    async close() {
      liveness.stop();
      await Promise.all([watch.stop(), grants.stop(), accessParts.stop(), close()]);
    },
  };
}

function createProjectQueue({ clock }: Foundation, metrics: Metrics, projectKeys: ProjectKeys): WorkQueue<string> {
  return createWorkQueue({
    clock,
    idOf: (projectId) => projectId,
    // Projects are grouped by namespace, so that a namespace with thousands of resources does not hold up others.
    groupOf: (projectId) => projectKeys.namespaceOf(projectId),
    observer: metrics.queue,
  });
}

function createProjects({ clock, logger }: Foundation, metrics: Metrics): Projects {
  const operationsOf = (projectId: string) =>
    new ProjectOperations({ clock, ...reportLogTo({ logger, metrics, projectId }) });
  return new Projects({ clock, operationsOf });
}

/** Makes projects due that were refused with the old API key, because there is another key now. */
function retryRefused(projects: Projects, queue: WorkQueue<string>): void {
  for (const projectId of projects.retryRefused()) {
    queue.add(projectId, "Urgent");
  }
}

/** Logs and counts the parts of an operation log that its reader could not read. */
function reportLogTo(to: { readonly logger: Logger; readonly metrics: Metrics; readonly projectId: string }) {
  const { logger, metrics, projectId } = to;
  return {
    onGap({ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number }) {
      metrics.operations.logCutShort();
      const [fromTime, untilTime] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
      logger.warn({ projectId, fromTime, untilTime }, "operations of this time were not read and are not counted");
    },
    onLost(operationId: string) {
      logger.warn({ projectId, operationId }, "the control plane does not show this operation; nothing waits for it");
    },
  };
}

function createLiveness({ clock, config }: Foundation, queue: WorkQueue<string>, pool: WorkerPool) {
  return createLivenessWatchdog({
    clock,
    queueStats: () => queue.stats(),
    activeWorkers: () => pool.activeWorkers(),
    workers: config.workers,
  });
}

interface MetricsSources extends Pick<MetricsOptions, "resources" | "accesses" | "unreadableCount" | "queueStats"> {
  readonly projects: () => Projects;
  readonly watch: ResourceWatch;
  readonly isLeader: () => boolean;
}

function createOperatorMetrics(
  foundation: Foundation,
  { watch, isLeader, projects, ...sources }: MetricsSources,
): Metrics {
  const { version, config } = foundation;
  return createMetrics({
    ...sources,
    orphanCount: () => projects().orphanCount(),
    serviceNowMs: (projectId) => projects().serviceNowMs(projectId),
    operationsAges: () => projects().operationsAges(),
    version,
    workers: config.workers,
    watchStats: () => watch.stats(),
    leader: { leaseName: config.leaseName, isLeader },
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

interface ClientNeeds {
  readonly metrics: Metrics;
  readonly fence: LeaderFence;
}

/** Connects to the control plane of the settings: makes the client, and what all its callers share. */
function connectControlPlane(foundation: Foundation, needs: ClientNeeds & { readonly onNewKey: () => void }) {
  const { config, clock, logger, keys, clusterId, tracer } = foundation;
  const { metrics, fence, onNewKey } = needs;
  const { client, close: closeClient } = createClient(foundation, needs);
  const { controlPlane: reporting, unreadableCount } = withUnreadableReport(client, { clock, logger });
  const calls = tracer === undefined ? reporting : withCallSpans(reporting, tracer);
  const throttle = throttleGuard({ clock, observer: metrics.controlPlane });
  const credentials = createCredentialGate({
    ...{ clock, keys, onNewKey },
    onJudged: (isAccepted) => metrics.controlPlane.keyJudged("settings", isAccepted),
  });
  const gated: CallGuard = (call) => credentials.guard(() => throttle(call));
  const controlPlane = withLeaderFence(guardCalls(calls, gated), fence, writeTimeoutMs);
  const budget = createRequestBudget({
    clock,
    requestsPerMinute: config.requestsPerMinute,
    requestsPerSecond: config.requestsPerSecond,
    observer: metrics.controlPlane,
  });
  const access: ControlPlaneAccess = {
    identity: { clusterId, serviceUrl: client.serviceUrl },
    forCaller: (caller) => withRequestBudget(controlPlane, budget, caller),
    reserve: (caller) => budget.take(caller),
    reserved: controlPlane,
    pollsPerMinute: budget.pollsPerMinute,
    objects: client.objects && objectsAccess(client.objects, { gated, fence, budget }),
  };
  const close = async () => {
    credentials.stop();
    await closeClient();
  };
  return { access, unreadableCount, close };
}

interface ObjectGuards {
  readonly gated: CallGuard;
  readonly fence: LeaderFence;
  readonly budget: RequestBudget;
}

/** Returns roles and databases with the same checks and the same request budget as the rest of the control plane. */
function objectsAccess(inner: BranchObjects, { gated, fence, budget }: ObjectGuards): ObjectsAccess {
  const write: CallGuard = (call) =>
    fence.mayStartEffect(writeTimeoutMs) ? gated(call) : Promise.reject(new LeaderFenceError());
  const reserved = guardBranchObjects(inner, { read: gated, write });
  return {
    reserved,
    forCaller(caller) {
      const inBudget: CallGuard = async (call) => {
        await budget.take(caller);
        return await call();
      };
      return guardBranchObjects(reserved, { read: inBudget, write: inBudget });
    },
  };
}

/** Returns the control plane that was passed in, else the HTTP client. */
function createClient(foundation: Foundation, { metrics, fence }: ClientNeeds) {
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

interface PoolNeeds extends ClientNeeds {
  readonly watch: ResourceWatch;
  readonly queue: WorkQueue<string>;
  readonly access: ControlPlaneAccess;
  readonly grantOf: GrantOf;
  readonly events: ReturnType<typeof createEventRecorder>;
  readonly projects: Projects;
  readonly kinds: readonly ProjectKind[];
}

/** Makes the parts of the kind DatabaseAccess. */
function createAccess(foundation: Foundation, needs: Omit<PoolNeeds, "projects" | "kinds">): AccessParts {
  const { watch, queue, access, events, grantOf, fence, metrics } = needs;
  const { config, clock, logger, random, connection } = foundation;
  const { createSettleMs, operationPollMs, resyncMs, databasePort, databaseSslMode } = config;
  return assembleAccess({
    ...{ connection, clock, logger, random, events, grantOf, fence, identity: access.identity },
    endpoints: watch.store,
    namespaces: config.watchNamespaces,
    observer: metrics.access,
    policy: { createSettleMs, operationPollMs, resyncMs },
    settings: {
      port: databasePort,
      sslMode: databaseSslMode,
      certificateAuthority: foundation.databaseAuthority,
    },
    enqueue: (projectId, priority) => queue.add(projectId, priority),
  });
}

function createPool(foundation: Foundation, needs: PoolNeeds): WorkerPool {
  const { watch, metrics, queue, access, events, grantOf, projects, kinds, fence } = needs;
  const { config, clock, logger, random, tracer } = foundation;
  const { createSettleMs, operationPollMs, resyncMs, projectPollMs } = config;
  const reconciler = new ProjectReconciler({
    ...{ clock, tracer, random, logger, events, grantOf, projects, kinds, projectPollMs },
    store: watch.store,
    accessFor: () => access,
    metrics: metrics.operations,
    policy: { createSettleMs, operationPollMs, resyncMs },
  });
  return createWorkerPool({
    clock,
    queue,
    workers: config.workers,
    // While the lease is too short for any effect, a reconcile could only read, so it is postponed.
    work: async (projectId, slot) =>
      fence.mayStartEffect(writeTimeoutMs)
        ? await reconciler.reconcile(projectId, slot)
        : { kind: "RequeueAfter", delayMs: notPermittedPauseMs },
    onError: (projectId, error) => logger.error({ projectId, err: error }, "reconcile of a project failed"),
    observer: metrics.reconciles,
  });
}
