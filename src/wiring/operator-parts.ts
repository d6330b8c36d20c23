/** Makes all parts of the operator, each connected to the others. */
import type { Config } from "../config.ts";
import type { KeySource } from "../control-plane/key-source.ts";
import type { Clock } from "../domain/clock.ts";
import { ClosableFence, PutOffError } from "../domain/leader-fence.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import type { KindGaps, ResourceKey } from "../domain/resource-store.ts";
import { QueuedEventRecorder } from "../kubernetes/events/event-recorder.ts";
import type { KubernetesConnection } from "../kubernetes/http/connection.ts";
import type { CredentialSource } from "../kubernetes/http/credentials.ts";
import { RequestLimit } from "../kubernetes/http/request-limit.ts";
import { KindWatch } from "../kubernetes/kind-watch.ts";
import { type Leadership, soleLeadership } from "../kubernetes/lease/leadership.ts";
import { createLeaseClient } from "../kubernetes/lease/lease-client.ts";
import { LeaseElector } from "../kubernetes/lease/lease-elector.ts";
import { createNamespaceWatch, type NamespaceWatch } from "../kubernetes/namespace-watch.ts";
import { computeEndpointKind } from "../kubernetes/store/resource-kinds.ts";
import { ProjectOperations } from "../operations/reader.ts";
import type { PlaneConnection } from "../planes/plane.ts";
import { usersAmong } from "../planes/plane-status.ts";
import type { ControlPlaneUnit } from "../reconcile/ports.ts";
import { ProjectKeys } from "../reconcile/project-keys.ts";
import { Projects } from "../reconcile/project-memory.ts";
import { ProjectReconciler } from "../reconcile/project-reconciler.ts";
import { type ComputeEndpoint, projectKeysOf } from "../resource/compute-endpoint.ts";
import { parseProjectKey, planeIndex, planeLabel } from "../resource/control-plane-resource.ts";
import { databaseAccessNames } from "../resource/names.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { LivenessWatchdog } from "../runtime/liveness-watchdog.ts";
import { type WorkPriority, WorkQueue } from "../runtime/work-queue.ts";
import { WorkerPool } from "../runtime/worker-pool.ts";
import { createMetrics, type Metrics } from "../telemetry/metrics.ts";
import { type ConnectOptions, connectControlPlane, writeTimeoutMs } from "./connect-control-plane.ts";
import { ControlPlanes } from "./control-planes.ts";
import { DatabaseAccesses } from "./database-accesses.ts";

/** The options of the operator. Everything that differs between tests and production is passed in here. */
export interface OperatorOptions {
  readonly config: Config;
  readonly credentials: CredentialSource;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly version: string;
  readonly instance: string;
  readonly random: () => number;
  /** Logs leave out the keys of control planes that resources describe. @default nothing */
  readonly onKey?: ((key: string) => void) | undefined;
  /** Makes what sends the requests to a control plane; tests pass it in. @default HTTP */
  readonly callOf?: ConnectOptions["callOf"];
  /** The certificate authority of the databases as PEM. @default public authorities */
  readonly databaseAuthority?: string | undefined;
  readonly tracer?: Tracer | undefined;
  /** Whether to forget a project before its next reconcile. Only the simulation sets it. @default never */
  readonly forgets?: (() => boolean) | undefined;
  /** Sends the last traces; never rejects. @default there are none */
  readonly flushTraces?: (() => Promise<void>) | undefined;
}

/** The pause if the Lease ends too soon for an effect, or a request was put off. */
const notPermittedPauseMs = 1_000;

/** For Namespaces that are read by name, so that a withdrawn grant soon has an effect. */
const longestReadAgainMs = 10_000;

export type Foundation = OperatorOptions & {
  readonly connection: KubernetesConnection;
  readonly leaseConnection: KubernetesConnection;
  readonly clusterId: string;
  readonly identity: string;
  /** The service account of the operator, as `namespace:name`. */
  readonly account: string;
  /** Where the operator does not watch the kinds that it can do without, by the name of the kind. */
  readonly gaps: ReadonlyMap<string, KindGaps>;
};

/** A part is made after the parts that its constructor gets; callbacks reach parts that are made later. */
export class OperatorParts {
  readonly leadership: Leadership;
  readonly fence: ClosableFence;
  readonly watch: KindWatch<ComputeEndpoint, ComputeEndpointStatus>;
  readonly metrics: Metrics;
  readonly events: QueuedEventRecorder;
  readonly liveness: LivenessWatchdog;
  readonly #foundation: Foundation;
  readonly #requests: RequestLimit;
  readonly #failed = Promise.withResolvers<string>();
  readonly #projectKeys = new ProjectKeys();
  readonly #grants: NamespaceWatch;
  readonly #queue: WorkQueue;
  readonly #projects: Projects;
  readonly #settings: PlaneConnection;
  readonly #planes: ControlPlanes;
  readonly #accesses: DatabaseAccesses;
  readonly #pool: WorkerPool;
  #isLeading = false;

  /** @throws Error when the times of the lease do not fit, or the URL of the control plane is not valid */
  constructor(foundation: Foundation) {
    const { config, clock, logger, random, instance } = foundation;
    this.#requests = new RequestLimit({
      ...{ clock, size: config.workers },
      onChange: (inFlight) => this.metrics.reconciles.workersChanged(inFlight),
    });
    // The Lease has a connection of its own, so that it never waits behind other requests.
    const connection = this.#requests.limit(foundation.connection);
    this.#foundation = { ...foundation, connection };
    this.leadership = this.#createLeadership();
    this.fence = new ClosableFence(this.leadership);
    const onRestored = () => this.#restored();
    const watched = { connection, clock, logger, random, onRestored, namespaces: config.watchNamespaces };
    this.watch = new KindWatch(computeEndpointKind, {
      ...{ ...watched, fence: this.fence, onList: () => this.leadership.nudge() },
      // A new leader reconciles every resource, so a standby does not have to remember changes.
      onChange: (key, origin) => this.#isLeading && this.#changed(key, origin === "Listed" ? "Background" : "Urgent"),
    });
    this.#grants = createNamespaceWatch({
      ...{ ...watched, readAgainMs: Math.min(longestReadAgainMs, config.projectPollMs) },
      onChange: (namespace) => this.#grantsChanged(namespace),
    });
    this.metrics = this.#createMetrics();
    this.#queue = new WorkQueue({ clock, random, observer: this.metrics.queue });
    this.events = new QueuedEventRecorder({
      ...{ connection, fence: this.fence, clock, logger, instance, random },
    });
    this.#projects = this.#newProjects();
    this.#settings = this.#connectSettings();
    this.#planes = this.#createPlanes();
    this.#accesses = this.#createAccesses();
    this.#pool = this.#createPool();
    this.liveness = new LivenessWatchdog({
      ...{ clock, queueStats: () => this.#queue.stats() },
      hasRoom: () => !this.#requests.isFull,
    });
  }

  /** Resolves with the reason when this process must end, for instance because it lost the Lease. Never rejects. */
  get failed(): Promise<string> {
    return this.#failed.promise;
  }

  start(): void {
    for (const part of [this.liveness, ...this.#watches(), this.leadership]) {
      part.start();
    }
  }

  /** Stops taking keys from the queue. @returns whether the running reconciles ended within `timeoutMs` */
  async stopWork(timeoutMs: number): Promise<boolean> {
    const stopping = [this.#pool.stop(timeoutMs), this.#planes.stopWork(timeoutMs)];
    // A reconcile that waits for the request budget has nothing to finish. The wait can be longer than the shutdown.
    for (const { access } of this.#units()) {
      access?.stopWaiting();
    }
    const stopped = await Promise.all(stopping);
    return stopped.every((isInTime) => isInTime);
  }

  async close(): Promise<void> {
    this.liveness.stop();
    await Promise.all(this.#watches().map((part) => part.stop()));
    await this.#settings.close();
  }

  #watches() {
    return [this.watch, this.#grants, this.#accesses.watch, this.#planes];
  }

  #createLeadership(): Leadership {
    const { config, leaseConnection: connection, identity, clock, logger, random } = this.#foundation;
    const callbacks = {
      mayLead: () => this.watch.hasSynced(),
      onLeading: () => void this.#lead(),
      onLost: (why: string) => this.#stopForGood(why),
    };
    if (!config.leaderElection) {
      return soleLeadership(callbacks);
    }
    const namespace = config.leaseNamespace ?? connection.namespace;
    const client = createLeaseClient({ connection, namespace, name: config.leaseName });
    return new LeaseElector({ ...callbacks, client, identity, clock, logger, random, longestEffectMs: writeTimeoutMs });
  }

  async #lead(): Promise<void> {
    try {
      // A watch may have missed events before. The first effect needs the resources as they are stored now (S5 in
      // docs/reliability.md).
      await Promise.all(this.#watches().map((each) => each.listConsistently()));
      this.#isLeading = true;
      for (const { key } of this.watch.store.list()) {
        this.#changed(key, "Background");
      }
      this.#accesses.lead();
      this.#planes.lead();
      this.#pool.start();
    } catch (error) {
      this.#foundation.logger.error(
        { err: error },
        "cannot list the resources after winning the lease; the process stops",
      );
      this.#stopForGood("the resources could not be listed after winning the lease");
    }
  }

  #stopForGood(why: string): void {
    this.fence.close();
    void this.#pool.stop(0);
    this.#failed.resolve(why);
  }

  #restored(): void {
    this.#stopForGood("the API server's resourceVersion went backwards, as after a restore of etcd");
  }

  /** None while this process does not lead: two replicas would both report every resource. */
  #resources(): readonly ComputeEndpoint[] {
    return this.#isLeading ? this.watch.store.list() : [];
  }

  #changed(key: ResourceKey, priority: WorkPriority): void {
    const resource = this.watch.store.get(key);
    for (const project of this.#projectKeys.noteChange(key, resource && projectKeysOf(resource))) {
      this.#enqueue(project, priority);
    }
    this.#accesses.endpointChanged(key, priority);
  }

  #enqueue(project: string, priority: WorkPriority): void {
    const { planeId, projectId } = parseProjectKey(project);
    this.#queue.add(project, priority);
    if (priority === "Urgent") {
      this.#planes.planes.unitOf(planeId).access?.makeUrgent(projectId);
    }
    this.#planes.enqueue(planeId);
  }

  /** @param namespace `undefined`: the grants of every namespace have changed */
  #grantsChanged(namespace: string | undefined): void {
    this.#planes.enqueueAll();
    for (const { key } of this.#resources()) {
      if (namespace === undefined || key.namespace === namespace) {
        this.#changed(key, "Urgent");
      }
    }
  }

  #createMetrics(): Metrics {
    const { version, config, clock } = this.#foundation;
    const units = () => this.#units();
    return createMetrics({
      ...{ version, workers: config.workers, resources: () => this.#resources() },
      accesses: { resources: () => this.#accesses.resources(), nowMs: () => clock.nowMs() },
      orphanCount: () => units().reduce((sum, { projects }) => sum + projects.orphanCount(), 0),
      unreadableCount: () => this.#settings.unreadableCount() + this.#planes.planes.unreadableCount(),
      nowMs: () => clock.nowMs(),
      operationsAges: () =>
        units().flatMap(({ id, projects }) =>
          projects.operationsAges().map((age) => ({ ...age, controlPlane: planeLabel(id) })),
        ),
      queueStats: () => this.#queue.stats(),
      watchStats: () => this.watch.stats(),
      leader: { leaseName: config.leaseName, isLeader: () => this.fence.mayStartEffect(0) },
    });
  }

  #units(): readonly ControlPlaneUnit[] {
    return this.#planes.planes.units();
  }

  #newProjects(): Projects {
    const { clock } = this.#foundation;
    const operationsOf = (projectId: string) => new ProjectOperations({ clock, ...this.#logReports(projectId) });
    return new Projects({ clock, operationsOf });
  }

  #logReports(projectId: string) {
    const { logger } = this.#foundation;
    const { operations } = this.metrics;
    return {
      onGap({ fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number }) {
        operations.logCutShort();
        const [fromTime, untilTime] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
        logger.warn(
          { projectId, fromTime, untilTime },
          "operations of this time range were not read and are not counted",
        );
      },
    };
  }

  #connectSettings(): PlaneConnection {
    const { config, keys } = this.#foundation;
    return this.#connect({
      ...{ url: config.controlPlaneUrl, keys },
      onNewKey: () => {
        // Projects that were refused with the former key do not wait for their next try.
        for (const projectId of this.#projects.retryRefused()) {
          this.#queue.add(projectId, "Urgent");
        }
      },
    });
  }

  #connect(target: Parameters<typeof connectControlPlane>[1]): PlaneConnection {
    return connectControlPlane({ ...this.#foundation, observer: this.metrics.controlPlane, fence: this.fence }, target);
  }

  #createPlanes(): ControlPlanes {
    const { config, connection, account, clock, logger, random, gaps, onKey = () => {} } = this.#foundation;
    const { databasePort: port, databaseSslMode: sslMode, watchNamespaces, projectGrants, tenantHosts } = config;
    return new ControlPlanes({
      ...{ connection, account, clock, logger, random, onKey, tenantHosts, watchNamespaces, gaps, fence: this.fence },
      ...{ namespaces: this.#grants, grantMode: projectGrants, events: this.events },
      turn: () => this.#requests.turn(),
      onRestored: () => this.#restored(),
      settings: { access: this.#settings.access, projects: this.#projects },
      onUnused: (planeId) => this.metrics.controlPlane.keyForgotten(planeId),
      newProjects: () => this.#newProjects(),
      connect: (target) => this.#connect(target),
      onUsable: (planeId) => {
        for (const { key } of this.watch.store.withIndex(planeIndex(planeId))) {
          this.#changed(key, "Urgent");
        }
        this.#accesses.planeChanged(planeId);
      },
      usersOf: (planeId) => {
        const { grantOf } = this.#planes.planes.unitOf(planeId);
        const endpoints = usersAmong(this.watch.store.withIndex(planeIndex(planeId)), grantOf).length;
        return endpoints + this.#accesses.usersOf(planeId);
      },
      connectionSettings: { port, sslMode, certificateAuthority: this.#foundation.databaseAuthority },
    });
  }

  #common() {
    const { config, clock, logger, random } = this.#foundation;
    const { createSettleMs, operationPollMs, resyncMs } = config;
    return { clock, logger, random, events: this.events, policy: { createSettleMs, operationPollMs, resyncMs } };
  }

  #createAccesses(): DatabaseAccesses {
    const { config, connection, account, gaps } = this.#foundation;
    return new DatabaseAccesses({
      ...{ ...this.#common(), connection, account, fence: this.fence, namespaces: config.watchNamespaces },
      ...{ findEndpoint: (key) => this.watch.store.get(key), observer: this.metrics.access },
      settingsOf: (planeId) => this.#planes.settingsOf(planeId),
      enqueue: (project, priority) => this.#enqueue(project, priority),
      gaps: gaps.get(databaseAccessNames.kind),
      onRestored: () => this.#restored(),
    });
  }

  #createPool(): WorkerPool {
    const { config, clock, logger, tracer, forgets } = this.#foundation;
    const { planes } = this.#planes;
    const reconciler = new ProjectReconciler({
      ...{ ...this.#common(), tracer, forgets, projectPollMs: config.projectPollMs, kinds: [this.#accesses.kind] },
      ...{ store: this.watch.store, metrics: this.metrics.operations },
      unitOf: (planeId) => planes.unitOf(planeId),
    });
    return new WorkerPool({
      ...{ clock, queue: this.#queue, turn: () => this.#requests.turn(), observer: this.metrics.reconciles },
      // While the lease is too short for any effect, a reconcile could only read, so none starts.
      work: async (project) => {
        try {
          if (this.fence.mayStartEffect(writeTimeoutMs)) {
            return await reconciler.reconcile(project);
          }
        } catch (error) {
          if (!(error instanceof PutOffError)) throw error;
        }
        return { kind: "RequeueAfter", delayMs: notPermittedPauseMs };
      },
      onError: (project, error) =>
        logger.error({ project, err: error }, "reconcile of a project failed with a bug; the operator tries again"),
    });
  }
}
