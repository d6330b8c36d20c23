import { type AccessParts, assembleAccess } from "./access-parts.ts";
import type { Config } from "./config.ts";
import type { KeySource } from "./control-plane/key-source.ts";
import { connectControlPlane, writeTimeoutMs } from "./control-plane-parts.ts";
import { usersAmong } from "./decide/plane-users.ts";
import type { BranchObjects } from "./domain/branch-objects.ts";
import type { Clock } from "./domain/clock.ts";
import type { ControlPlane } from "./domain/control-plane.ts";
import type { LeaderFence } from "./domain/leader-fence.ts";
import type { Logger } from "./domain/logger.ts";
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
import { assemblePlanes, type PlaneParts, type PlanePartsOptions } from "./plane-parts.ts";
import type { ControlPlaneUnit } from "./reconcile/control-plane-access.ts";
import { ProjectKeys } from "./reconcile/project-keys.ts";
import type { ProjectKind } from "./reconcile/project-kind.ts";
import { ProjectReconciler } from "./reconcile/project-reconciler.ts";
import { Projects } from "./reconcile/projects.ts";
import { parseProjectKey, planeLabel } from "./resource/project-key.ts";
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
  /**
   * Called with each API key of a control plane that a resource describes, so that logs can leave it out. @default
   * nothing
   */
  readonly onKey?: ((key: string) => void) | undefined;
  /** @default the HTTP client for the control plane of the settings */
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

/** A process whose lease is too short for an effect looks again after this time. */
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
  const add = (project: string, priority: "Urgent" | "Background") => {
    queue.add(project, priority);
    planes.usersChanged(parseProjectKey(project).planeId);
  };
  const enqueue = (key: ResourceKey, priority: "Urgent" | "Background") => {
    for (const project of projectKeys.noteChange(key, watch.store.get(key))) add(project, priority);
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
    planes.lead();
    pool.start();
  };
  const gate = createClosableFence(leadership);
  const watch = createResourceWatch({
    ...{ connection, namespaces: config.watchNamespaces, fence: gate, clock, logger, random },
    onChange(key, origin) {
      // A new leader reconciles every resource, so a standby need not remember changes.
      if (isLeading) enqueue(key, origin === "Listed" ? "Background" : "Urgent");
    },
    onList: () => leadership.nudge(),
  });
  const resources = () => (isLeading ? watch.store.list() : []);
  const grants = assembleGrants({
    ...{ connection, clock, logger, random, resources, enqueue },
    ...{ namespaces: config.watchNamespaces, projectPollMs: config.projectPollMs },
    onNews: () => planes.allChanged(),
  });
  const metrics: Metrics = createOperatorMetrics(foundation, {
    ...{ watch, unreadableCount: () => planes.unreadableCount(), queueStats: () => queue.stats() },
    // The leader alone: otherwise two replicas would both report every resource.
    ...{ resources, units: () => planes.units(), isLeader: () => gate.mayStartEffect(0) },
    accesses: { resources: () => accessParts.resources(), nowMs: () => clock.nowMs() },
  });
  const queue = createProjectQueue(foundation, metrics, projectKeys);
  const events = createEventRecorder({ connection, fence: gate, clock, logger, instance, random });
  const planeNeeds = { metrics, fence: gate, grants, watch, queue, enqueue, access: () => accessParts };
  const planes = createPlanes(foundation, planeNeeds);
  const needs = { watch, metrics, queue, events, fence: gate, planes, add };
  const accessParts = createAccess(foundation, needs);
  const pool = createPool(foundation, { ...needs, kinds: [accessParts.kind] });
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
      await Promise.all([watch.stop(), grants.stop(), accessParts.stop(), planes.stop()]);
    },
  };
}

function createProjectQueue({ clock }: Foundation, metrics: Metrics, projectKeys: ProjectKeys): WorkQueue<string> {
  return createWorkQueue({
    clock,
    idOf: (project) => project,
    // A namespace with thousands of resources does not hold up other namespaces.
    groupOf: (project) => projectKeys.namespaceOf(project),
    observer: metrics.queue,
  });
}

function createProjects({ clock, logger }: Foundation, metrics: Metrics): Projects {
  const operationsOf = (projectId: string) =>
    new ProjectOperations({ clock, ...reportLogTo({ logger, metrics, projectId }) });
  return new Projects({ clock, operationsOf });
}

/** Logs and counts the parts of an operation log that its reader could not read. */
function reportLogTo(to: { readonly logger: Logger; readonly metrics: Metrics; readonly projectId: string }) {
  const { logger, metrics, projectId } = to;
  return {
    onGap({ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number }) {
      metrics.operations.logCutShort();
      const [fromTime, untilTime] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
      logger.warn(
        { projectId, fromTime, untilTime },
        "operations of this time range were not read and are not counted",
      );
    },
    onLost(operationId: string) {
      logger.warn(
        { projectId, operationId },
        "the control plane does not show this operation; the operator no longer waits for it",
      );
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
  readonly units: () => readonly ControlPlaneUnit[];
  readonly watch: ResourceWatch;
  readonly isLeader: () => boolean;
}

function createOperatorMetrics(
  foundation: Foundation,
  { watch, isLeader, units, ...sources }: MetricsSources,
): Metrics {
  const { version, config } = foundation;
  return createMetrics({
    ...sources,
    orphanCount: () => units().reduce((sum, { projects }) => sum + projects.orphanCount(), 0),
    serviceNowMs(key) {
      const { planeId, projectId } = parseProjectKey(key);
      return units()
        .find(({ id }) => id === planeId)
        ?.projects.serviceNowMs(projectId);
    },
    operationsAges: () =>
      units().flatMap(({ id, projects }) =>
        projects.operationsAges().map((age) => ({ ...age, controlPlane: planeLabel(id) })),
      ),
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

interface PlaneNeeds extends Pick<PlanePartsOptions, "grants"> {
  readonly metrics: Metrics;
  readonly fence: LeaderFence;
  readonly watch: ResourceWatch;
  readonly queue: WorkQueue<string>;
  readonly enqueue: (key: ResourceKey, priority: "Urgent") => void;
  readonly access: () => AccessParts;
}

/** There is another API key: projects that were refused with the old one do not wait for their next try. */
function retryRefused(projects: Projects, queue: WorkQueue<string>): void {
  for (const projectId of projects.retryRefused()) {
    queue.add(projectId, "Urgent");
  }
}

/** Makes the control plane of the settings, and those that resources describe. */
function createPlanes(foundation: Foundation, needs: PlaneNeeds) {
  const { metrics, fence, grants, watch, queue, enqueue, access } = needs;
  const { config, keys, controlPlane: client, connection, clock, logger, random, onKey = () => {} } = foundation;
  const options = { ...foundation, observer: metrics.controlPlane, fence };
  const { requestsPerMinute, databasePort: port, databaseSslMode: sslMode } = config;
  const projects = createProjects(foundation, metrics);
  const target = { url: config.controlPlaneUrl, keys, requestsPerMinute, client };
  const onNewKey = () => retryRefused(projects, queue);
  const settings = connectControlPlane(options, { ...target, onNewKey });
  const planes = assemblePlanes({
    ...{ grants, connection, clock, logger, random, fence, onKey },
    ...{ namespaces: config.watchNamespaces, grantMode: config.projectGrants },
    tenantLimits: config.tenantLimits,
    settings: { access: settings.access, projects },
    onUnused: (planeId) => metrics.controlPlane.keyForgotten(planeId),
    newProjects: () => createProjects(foundation, metrics),
    connect: (target) =>
      connectControlPlane(options, { ...target, requestsPerMinute: target.requestsPerMinute ?? requestsPerMinute }),
    onUsable(planeId) {
      for (const { key } of watch.store.inProject(planeId)) {
        enqueue(key, "Urgent");
      }
      access().planeChanged(planeId);
    },
    usersOf(planeId) {
      const endpoints = usersAmong(watch.store.inProject(planeId), planes.unitOf(planeId).grantOf).length;
      return { count: endpoints + access().usersOf(planeId), isComplete: access().isCounted() };
    },
    connectionSettings: { port, sslMode, certificateAuthority: foundation.databaseAuthority },
  });
  return {
    ...planes,
    unreadableCount: () => settings.unreadableCount() + planes.unreadableCount(),
    async stop() {
      await Promise.all([planes.stop(), settings.close()]);
    },
  };
}

interface PoolNeeds {
  readonly metrics: Metrics;
  readonly fence: LeaderFence;
  readonly watch: ResourceWatch;
  readonly queue: WorkQueue<string>;
  readonly events: ReturnType<typeof createEventRecorder>;
  readonly planes: PlaneParts;
  readonly add: (project: string, priority: "Urgent" | "Background") => void;
  readonly kinds: readonly ProjectKind[];
}

/** The second kind, DatabaseAccess. */
function createAccess(foundation: Foundation, needs: Omit<PoolNeeds, "kinds">): AccessParts {
  const { watch, add, planes, events, fence, metrics } = needs;
  const { config, clock, logger, random, connection } = foundation;
  const { createSettleMs, operationPollMs, resyncMs } = config;
  return assembleAccess({
    ...{ connection, clock, logger, random, events, fence },
    endpoints: watch.store,
    namespaces: config.watchNamespaces,
    observer: metrics.access,
    policy: { createSettleMs, operationPollMs, resyncMs },
    settingsOf: planes.settingsOf,
    enqueue: add,
    onCounted: () => planes.allChanged(),
  });
}

function createPool(foundation: Foundation, needs: PoolNeeds): WorkerPool {
  const { watch, metrics, queue, events, planes, kinds, fence } = needs;
  const { config, clock, logger, random, tracer } = foundation;
  const { createSettleMs, operationPollMs, resyncMs, projectPollMs } = config;
  const reconciler = new ProjectReconciler({
    ...{ clock, tracer, random, logger, events, unitOf: planes.unitOf, kinds, projectPollMs },
    store: watch.store,
    metrics: metrics.operations,
    policy: { createSettleMs, operationPollMs, resyncMs },
  });
  const pool = createWorkerPool({
    clock,
    queue,
    workers: config.workers,
    // While the lease is too short for any effect, a reconcile could only read. Before it is known what a control plane is,
    // its resources cannot be decided.
    work: async (project, slot) =>
      fence.mayStartEffect(writeTimeoutMs) && planes.isSettled(parseProjectKey(project).planeId)
        ? await reconciler.reconcile(project, slot)
        : { kind: "RequeueAfter", delayMs: notPermittedPauseMs },
    onError: (project, error) => logger.error({ project, err: error }, "reconcile of a project failed"),
    observer: metrics.reconciles,
  });
  return {
    start: () => pool.start(),
    activeWorkers: () => pool.activeWorkers(),
    stop: async (timeoutMs) =>
      (await Promise.all([pool.stop(timeoutMs), planes.stopWork(timeoutMs)])).every((isInTime) => isInTime),
  };
}
