import { connectControlPlane, type PlaneTarget } from "../control-plane/connection.ts";
import { writeTimeoutMs } from "../control-plane/http-call.ts";
import type { Urgency } from "../domain/control-plane.ts";
import { ClosableFence, PutOffError } from "../domain/leader-fence.ts";
import type { EngineContext } from "../engine/kind.ts";
import { Projects } from "../engine/memory.ts";
import { reconcileProject } from "../engine/project-reconciler.ts";
import { AccessKind } from "../kinds/access/access-kind.ts";
import { endpointIndex, indexesOf } from "../kinds/access/endpoint-reference.ts";
import { BranchKind } from "../kinds/branch/branch-kind.ts";
import { EndpointKind } from "../kinds/endpoint/endpoint-kind.ts";
import { QueuedEventRecorder } from "../kubernetes/events/event-recorder.ts";
import { RequestLimit } from "../kubernetes/http/request-limit.ts";
import { createLeaseClient } from "../kubernetes/lease/lease-client.ts";
import { type Leadership, LeaseElector, soleLeadership } from "../kubernetes/lease/lease-elector.ts";
import { NamespaceGrants } from "../kubernetes/namespace-grants.ts";
import { computeEndpointKind, databaseAccessKind, databaseBranchKind } from "../kubernetes/store/resource-kinds.ts";
import { createSecretStore } from "../kubernetes/store/secret-store.ts";
import { WatchedKind } from "../kubernetes/watched-kind.ts";
import { ProjectOperations } from "../operations/reader.ts";
import { usersAmong } from "../planes/plane-status.ts";
import type { Planes } from "../planes/planes.ts";
import { branchIndex, type ComputeEndpoint, noProject, projectKeysOf } from "../resource/compute-endpoint.ts";
import { kindOfPlane, parseProjectKey, planeIndex, planeLabel } from "../resource/control-plane-resource.ts";
import type { DatabaseAccess } from "../resource/database-access.ts";
import type { DatabaseAccessStatus } from "../resource/database-access-schema.ts";
import { branchProjectKey, type DatabaseBranch } from "../resource/database-branch.ts";
import type { DatabaseBranchStatus } from "../resource/database-branch-schema.ts";
import type { ComputeEndpointStatus } from "../resource/status-schema.ts";
import { WorkQueue } from "../runtime/work-queue.ts";
import { WorkerPool } from "../runtime/worker-pool.ts";
import { createMetrics, type Metrics } from "../telemetry/metrics.ts";
import { createControlPlanes, queueKeyOf } from "./control-planes.ts";
import type { Foundation } from "./operator-options.ts";

/** The pause if the Lease ends too soon for an effect, or a request was put off. */
const notPermittedPauseMs = 1_000;

/** For Namespaces that are read by name, so that a withdrawn grant soon has an effect. */
const longestReadAgainMs = 10_000;

/** A part is made after the parts that its constructor gets; callbacks reach parts that are made later. */
export class OperatorParts {
  readonly leadership: Leadership;
  readonly fence: ClosableFence;
  readonly endpoints: WatchedKind<ComputeEndpoint, ComputeEndpointStatus>;
  readonly metrics: Metrics;
  readonly events: QueuedEventRecorder;
  readonly #foundation: Foundation;
  readonly #requests: RequestLimit;
  readonly #failed = Promise.withResolvers<string>();
  readonly #accesses: WatchedKind<DatabaseAccess, DatabaseAccessStatus>;
  readonly #branches: WatchedKind<DatabaseBranch, DatabaseBranchStatus>;
  readonly #accessKind: AccessKind;
  readonly #grants: NamespaceGrants;
  readonly #queue: WorkQueue;
  readonly #planes: Planes;
  readonly #planeKinds: ReturnType<typeof createControlPlanes>["kinds"];
  readonly #pool: WorkerPool;

  /** @throws Error when the times of the lease do not fit, or the URL of the control plane is not valid */
  constructor(foundation: Foundation) {
    const { config, clock, logger, random, instance, gaps } = foundation;
    this.#requests = new RequestLimit({ clock, size: config.workers });
    // The Lease has a connection of its own, so that it never waits behind other requests.
    const connection = this.#requests.limit(foundation.connection);
    this.#foundation = { ...foundation, connection };
    this.leadership = this.#createLeadership();
    this.fence = new ClosableFence(this.leadership);
    const { watchNamespaces: namespaces, projectPollMs } = config;
    const watching = {
      ...this.#foundation,
      namespaces,
      fence: this.fence,
      onRestored: () => this.#end("the API server's resourceVersion went backwards, as after a restore of etcd"),
      enqueue: (key: string, priority: Urgency) => this.#enqueue(key, priority),
    };
    this.endpoints = new WatchedKind(computeEndpointKind, {
      ...watching,
      gaps: undefined,
      keysOf: projectKeysOf,
      onList: () => this.leadership.nudge(),
      onChange: (key, priority) => this.#accesses.changedAt(endpointIndex(key), priority),
    });
    const accessKind = { ...databaseAccessKind, indexesOf };
    this.#accesses = new WatchedKind(accessKind, {
      ...watching,
      gaps: gaps.get(accessKind.kind),
      keysOf: (resource) => [this.#accessKind.keyOf(resource)],
    });
    this.#branches = new WatchedKind(databaseBranchKind, {
      ...watching,
      gaps: gaps.get(databaseBranchKind.kind),
      keysOf: (resource) => [branchProjectKey(resource)],
      onChange: (key, priority) => this.endpoints.changedAt(branchIndex(key), priority),
    });
    this.#grants = new NamespaceGrants({
      ...watching,
      gaps: gaps.get("Namespace"),
      readAgainMs: Math.min(longestReadAgainMs, projectPollMs),
      onChange: (namespace) => this.#grantsChanged(namespace),
    });
    this.metrics = this.#createMetrics();
    this.#queue = new WorkQueue({ clock, random, observer: this.metrics.queue });
    this.events = new QueuedEventRecorder({ connection, fence: this.fence, clock, logger, instance, random });
    const { planes, kinds } = createControlPlanes({ ...watching, ...this.#aroundPlanes() });
    this.#planes = planes;
    this.#planeKinds = kinds;
    this.#accessKind = this.#createAccessKind();
    this.#pool = this.#createPool();
  }

  /** Resolves with the reason when this process must end, for instance because it lost the Lease. Never rejects. */
  get failed(): Promise<string> {
    return this.#failed.promise;
  }

  readonly queueStats = () => this.#queue.stats();

  start(): void {
    for (const part of [...this.#watches(), this.leadership]) {
      part.start();
    }
  }

  /** Stops taking keys from the queue. @returns whether the running reconciles ended within `timeoutMs` */
  stopWork(timeoutMs: number): Promise<boolean> {
    const stopping = this.#pool.stop(timeoutMs);
    // A reconcile that waits for the request budget has nothing to finish. The wait can be longer than the shutdown.
    for (const plane of this.#planes.all()) {
      plane.unit().access?.stopWaiting();
    }
    return stopping;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watches().map((watch) => watch.stop()), this.#planes.close()]);
  }

  #kinds() {
    return [this.endpoints, this.#branches, this.#accesses, ...this.#planeKinds];
  }

  #watches() {
    return [...this.#kinds(), this.#grants];
  }

  #createLeadership(): Leadership {
    const { config, leaseConnection: connection } = this.#foundation;
    const callbacks = {
      mayLead: () => this.endpoints.stats().hasSynced,
      onLeading: () => void this.#lead(),
      onLost: (why: string) => this.#end(why),
    };
    if (!config.leaderElection) {
      return soleLeadership(callbacks);
    }
    const namespace = config.leaseNamespace ?? connection.namespace;
    const client = createLeaseClient({ connection, namespace, name: config.leaseName });
    return new LeaseElector({ ...this.#foundation, ...callbacks, client });
  }

  async #lead(): Promise<void> {
    try {
      // A watch may have missed events before. The first effect needs the resources as they are stored now (S5 in
      // docs/reliability.md).
      await Promise.all(this.#watches().map((each) => each.listConsistently()));
      await Promise.all(this.#planes.all().map(({ key }) => key?.read()));
      for (const kind of this.#kinds()) {
        kind.lead();
      }
      this.#pool.start();
    } catch (err) {
      const message = "cannot list the resources after winning the lease; the process stops";
      this.#foundation.logger.error({ err }, message);
      this.#end("the resources could not be listed after winning the lease");
    }
  }

  #end(why: string): void {
    this.fence.close();
    void this.#pool.stop(0);
    this.#failed.resolve(why);
  }

  /** An edit of a resource also makes the reads urgent that its project waits for, and its control plane counts again. */
  #enqueue(key: string, priority: Urgency): void {
    const { planeId, projectId } = parseProjectKey(key);
    this.#queue.add(key, priority);
    if (projectId === noProject) {
      return;
    }
    if (priority === "Urgent") {
      this.#planes.unitOf(planeId).access?.makeUrgent(projectId);
    }
    this.#enqueuePlane(planeId);
  }

  #enqueuePlane(planeId: string): void {
    if (kindOfPlane(planeId) !== undefined) this.#queue.add(queueKeyOf(planeId), "Urgent");
  }

  /** @param namespace `undefined`: the grants of every namespace have changed */
  #grantsChanged(namespace: string | undefined): void {
    for (const { id } of this.#planes.all()) {
      this.#enqueuePlane(id);
    }
    for (const kind of [this.endpoints, this.#branches]) kind.changedIn(namespace);
  }

  #createMetrics(): Metrics {
    const { version, config, clock } = this.#foundation;
    const planes = () => this.#planes.all();
    return createMetrics({
      version,
      workers: config.workers,
      nowMs: () => clock.nowMs(),
      activeWorkers: () => this.#requests.inFlight,
      resources: () => this.endpoints.resources(),
      accesses: () => this.#accesses.resources(),
      branches: () => this.#branches.resources(),
      orphanCount: () => planes().reduce((sum, { projects }) => sum + projects.orphanCount(), 0),
      unreadableCount: () => planes().reduce((sum, { connection }) => sum + (connection?.unreadableCount() ?? 0), 0),
      controlPlanes: () =>
        planes().flatMap(({ id, connection, health }) =>
          connection ? { label: planeLabel(id), counts: connection.counts, credentials: health.state.credentials } : [],
        ),
      operationsAges: () =>
        planes().flatMap(({ id, projects }) =>
          projects.operationsAges().map((age) => ({ ...age, controlPlane: planeLabel(id) })),
        ),
      queueStats: this.queueStats,
      watchStats: () => this.endpoints.stats(),
      leader: { leaseName: config.leaseName, isLeader: () => this.fence.mayStartEffect(0) },
    });
  }

  #newProjects(): Projects {
    const { clock, logger } = this.#foundation;
    const operationsOf = (projectId: string) =>
      new ProjectOperations({
        clock,
        onGap: ({ fromMs, untilMs }) => {
          this.metrics.operations.logCutShort();
          const [fromTime, untilTime] = [fromMs, untilMs].map((ms) => new Date(ms).toISOString());
          const message = "operations of this time range were not read and are not counted";
          logger.warn({ projectId, fromTime, untilTime }, message);
        },
      });
    return new Projects({ clock, operationsOf });
  }

  #aroundPlanes() {
    const { onKey = () => {} } = this.#foundation;
    const [endpoints, accesses, branches] = [this.endpoints, this.#accesses, this.#branches];
    const parts = { metrics: this.metrics.controlPlane, fence: this.fence };
    return {
      onKey,
      namespaces: this.#grants,
      events: this.events,
      newProjects: () => this.#newProjects(),
      connect: (target: PlaneTarget) => connectControlPlane({ ...this.#foundation, ...parts }, target),
      onNews: (planeId: string) => this.#enqueuePlane(planeId),
      onUsable(planeId: string) {
        for (const kind of [branches, endpoints, accesses]) kind.changedAt(planeIndex(planeId), "Urgent");
      },
      usersOf: (planeId: string) => {
        const { grantOf } = this.#planes.unitOf(planeId);
        const index = planeIndex(planeId);
        const others = [accesses, branches].map(({ store }) => store.withIndex(index).length);
        return others.reduce((sum, each) => sum + each, usersAmong(endpoints.store.withIndex(index), grantOf));
      },
    };
  }

  #createAccessKind(): AccessKind {
    return new AccessKind({
      store: this.#accesses.store,
      observer: this.metrics.access,
      secrets: createSecretStore({ ...this.#foundation, fence: this.fence }),
      findEndpoint: (key) => this.endpoints.store.get(key),
      findBranch: (key) => this.#branches.store.get(key),
      endpointsOf: (projectId) => this.endpoints.store.withIndex(projectId),
      settingsOf: (planeId) => this.#planes.of(planeId).databases,
    });
  }

  #createPool(): WorkerPool {
    const { config, clock, logger } = this.#foundation;
    const context: EngineContext = {
      ...this.#foundation,
      events: this.events,
      policy: config,
      projectPollMs: config.projectPollMs,
      kinds: [
        new BranchKind(this.#branches.store),
        new EndpointKind(this.endpoints.store, (key) => this.#branches.store.get(key)),
        this.#accessKind,
      ],
      metrics: this.metrics.operations,
      unitOf: (planeId) => this.#planes.unitOf(planeId),
    };
    const reconcile = (key: string) => {
      const { planeId, projectId } = parseProjectKey(key);
      const isOfPlane = projectId === noProject && kindOfPlane(planeId) !== undefined;
      return isOfPlane ? this.#planes.reconcile(planeId) : reconcileProject(context, key);
    };
    return new WorkerPool({
      clock,
      queue: this.#queue,
      turn: () => this.#requests.turn(),
      observer: this.metrics.reconciles,
      // While the lease is too short for any effect, a reconcile could only read, so none starts.
      work: async (key) => {
        try {
          if (this.fence.mayStartEffect(writeTimeoutMs)) {
            return await reconcile(key);
          }
        } catch (error) {
          if (!(error instanceof PutOffError)) throw error;
        }
        return { kind: "RequeueAfter", delayMs: notPermittedPauseMs };
      },
      onError: (key, err) => logger.error({ key, err }, "a reconcile failed with a bug; the operator tries again"),
    });
  }
}
