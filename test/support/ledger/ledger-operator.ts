/** The operator of a ledger run, without Kubernetes. */
import { createControlPlane } from "../../../src/control-plane/create-control-plane.ts";
import { createKeySource } from "../../../src/control-plane/key-source.ts";
import type { Clock } from "../../../src/domain/clock.ts";
import { ClosableFence, LeaderFenceError } from "../../../src/domain/leader-fence.ts";
import type { LogFields, Logger } from "../../../src/domain/logger.ts";
import type { ResourceEvent, ResourceKey, ResourceStore } from "../../../src/domain/resource-store.ts";
import { ProjectOperations } from "../../../src/operations/reader.ts";
import { Projects } from "../../../src/reconcile/project-memory.ts";
import { ProjectReconciler } from "../../../src/reconcile/project-reconciler.ts";
import { type ComputeEndpoint, projectsOf } from "../../../src/resource/compute-endpoint.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { systemClock } from "../../../src/runtime/system-clock.ts";
import { WorkQueue } from "../../../src/runtime/work-queue.ts";
import { WorkerPool } from "../../../src/runtime/worker-pool.ts";
import { createMetrics, type Metrics } from "../../../src/telemetry/metrics.ts";
import { saveOutput } from "../outputs.ts";
import { secret } from "../secrets.ts";
import { settingsUnit } from "../settings-unit.ts";
import { WorldOutputs } from "../world-outputs.ts";
import { countsOf } from "./expected-counts.ts";

type Store = ResourceStore<ComputeEndpoint, ComputeEndpointStatus>;

/** The parts of one process of the operator. */
export interface LedgerOperatorOptions {
  /** The clock of the reconciler. Calls to the control plane have the deadlines of the machine's clock. */
  readonly clock: Clock;
  readonly store: Store;
  readonly serviceUrl: string;
  readonly apiKey: string;
}

const policy = { createSettleMs: 10_000, operationPollMs: 1_000, resyncMs: 60_000 };
const workers = 4;

/**
 * One process of the operator with the real client, reconciler, queue and metrics, over a store in memory. Its counts
 * can also be read after it has ended.
 */
export class LedgerOperator {
  /** Errors that should not have happened. */
  readonly errors: unknown[] = [];
  /** Warnings that may explain a failure. */
  readonly warnings: { readonly message: string; readonly fields: LogFields }[] = [];
  /** Ids of the counted operations. They may explain a failure. */
  readonly countedIds: string[] = [];
  readonly #store: Store;
  readonly #metrics: Metrics;
  readonly #wake: (key: ResourceKey) => void;
  readonly #start: () => void;
  readonly #end: (timeoutMs: number) => Promise<boolean>;
  readonly #gate = new ClosableFence();
  readonly #seenProjects = new Set<string>();

  constructor({ clock, store, serviceUrl, apiKey }: LedgerOperatorOptions) {
    this.#store = store;
    const queue = new WorkQueue({ clock });
    const wake = (key: ResourceKey) => {
      const resource = store.get(key);
      const projects = resource === undefined ? this.#seenProjects : projectsOf(resource);
      for (const projectId of projects) {
        this.#seenProjects.add(projectId);
        queue.add(projectId, "Background");
      }
    };
    const onGap = (gap: object) => {
      metrics.operations.logCutShort();
      logger.warn({ ...gap }, "operations of this time range were not read and are not counted");
    };
    const projects = new Projects({ clock, operationsOf: () => new ProjectOperations({ clock, onGap }) });
    const metrics = createMetrics({
      version: "0.0.0-test",
      workers,
      resources: () => store.list(),
      orphanCount: () => projects.orphanCount(),
      serviceNowMs: (projectId) => projects.serviceNowMs(projectId),
      operationsAges: () => projects.operationsAges().map((age) => ({ ...age, controlPlane: "settings" })),
      unreadableCount: () => 0,
      queueStats: () => queue.stats(),
      watchStats: () => ({ hasSynced: true, isWatching: true, lists: 1, watches: 1, silentForMs: 0 }),
      leader: { leaseName: "test", isLeader: () => true },
    });
    const keys = createKeySource({ key: apiKey });
    const client = createControlPlane({
      baseUrl: serviceUrl,
      keys,
      clock: systemClock,
      observer: metrics.controlPlane,
      userAgent: "endpoint-operator/0.0.0-test",
      fence: this.#gate,
    });
    const outputs = new WorldOutputs(secret(apiKey));
    const events: (ResourceKey & ResourceEvent)[] = [];
    const logger: Logger = {
      ...outputs.logger,
      warn: (fields, message) => {
        this.warnings.push({ message, fields });
        outputs.logger.warn(fields, message);
      },
      error: (fields, message) => {
        this.errors.push(fields.err ?? fields);
        outputs.logger.error(fields, message);
      },
    };
    const identity = { clusterId: "cluster-a", serviceUrl: client.serviceUrl };
    const reserve = async () => {};
    const access = {
      identity,
      forCaller: () => client,
      reserve,
      reserved: client,
      pollsPerMinute: 100_000,
      hurry() {},
      stopWaiting() {},
    };
    const unit = settingsUnit(access, projects);
    const reconciler = new ProjectReconciler({
      clock,
      store: permitted(store, this.#gate, outputs),
      unitOf: () => unit,
      events: { record: ({ key }, event) => void events.push({ ...key, ...event }) },
      metrics: {
        ...metrics.operations,
        countEnded: (operation) => {
          this.countedIds.push(operation.operationId);
          metrics.operations.countEnded(operation);
        },
      },
      logger,
      policy,
      projectPollMs: 2_000,
      random: Math.random,
    });
    const onError = (_projectId: string, error: unknown) => void this.errors.push(error);
    const pool = new WorkerPool({
      clock,
      queue,
      workers,
      work: (projectId, slot) => reconciler.reconcile(projectId, slot),
      onError,
    });
    this.#metrics = metrics;
    this.#wake = wake;
    this.#start = () => pool.start();
    this.#end = async (timeoutMs) => {
      const isInTime = await pool.stop(timeoutMs);
      await client.close();
      outputs.save(events);
      saveOutput("metrics", (await metrics.render("OpenMetrics")).body);
      return isInTime;
    };
  }

  start(): void {
    for (const { key } of this.#store.list()) {
      this.#wake(key);
    }
    this.#start();
  }

  /** Adds the key of a resource that has changed. */
  wake(key: ResourceKey): void {
    this.#wake(key);
  }

  /**
   * Stops the process like a pod: running reconciles end first.
   * @throws Error when they do not end
   */
  async stop(): Promise<void> {
    if (!(await this.#end(400_000))) {
      throw new Error("passes did not end in time");
    }
  }

  /** Takes the leadership away. Sent requests may still take effect, and no others are sent. */
  lose(): Promise<void> {
    this.#gate.close();
    return this.#end(400_000).then(() => {});
  }

  /** Returns the ended operations by "action outcome", from the metrics page as it is now. */
  async counts(): Promise<ReadonlyMap<string, number>> {
    return countsOf((await this.#metrics.render("Prometheus")).body);
  }
}

/**
 * Returns a store that only a leader can write to, and whose answers take some time. Every written status is saved for
 * the search for secrets.
 */
function permitted(store: Store, gate: { mayStartEffect(timeoutMs: number): boolean }, outputs: WorldOutputs): Store {
  let patches = 0;
  const write = async <Answer>(send: () => Promise<Answer>): Promise<Answer> => {
    if (!gate.mayStartEffect(0)) {
      throw new LeaderFenceError();
    }
    const answer = await send();
    await new Promise<void>((resolve) => setImmediate(resolve));
    return answer;
  };
  return {
    get: (key) => store.get(key),
    current: (key) => store.current(key),
    inProject: (projectId) => store.inProject(projectId),
    list: () => store.list(),
    read: (key) => store.read(key),
    addFinalizer: (resource) => write(() => store.addFinalizer(resource)),
    removeFinalizer: (resource) => write(() => store.removeFinalizer(resource)),
    patchStatus: (resource, status) => {
      patches += 1;
      outputs.saw({ metadata: { ...resource.key, resourceVersion: `${patches}` }, status });
      return write(() => store.patchStatus(resource, status));
    },
  };
}
