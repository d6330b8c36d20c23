import { createProjectView } from "../../../src/control-plane/create-project-view.ts";
import type { ResourceEvent } from "../../../src/domain/event-recorder.ts";
import type { LogFields } from "../../../src/domain/logger.ts";
import type { EndedOperation } from "../../../src/domain/operation-metrics.ts";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import type { Tracer } from "../../../src/domain/tracer.ts";
import type { Requeue } from "../../../src/domain/worker.ts";
import type { Policy } from "../../../src/plan/observation.ts";
import { CreateTurns } from "../../../src/reconcile/create-turns.ts";
import { Ledger } from "../../../src/reconcile/ledger.ts";
import { logNeededSinceMs } from "../../../src/reconcile/log-need.ts";
import { ProjectLanes } from "../../../src/reconcile/project-lanes.ts";
import { Reconciler } from "../../../src/reconcile/reconciler.ts";
import type { Service } from "../../../src/reconcile/service.ts";
import type { FakeClock } from "../fake-clock.ts";
import type { FakeResourceStore } from "./fake-resource-store.ts";
import type { FakeService } from "./fake-service.ts";

/** The world that outlives a process. */
export interface FakeWorld {
  readonly clock: FakeClock;
  readonly store: FakeResourceStore;
  readonly service: FakeService;
  /** @default nothing is traced */
  readonly tracer?: Tracer | undefined;
}

export const fakePolicy: Policy = { createSettleMs: 150_000, operationPollMs: 5_000, resyncMs: 600_000 };

/** One process of the operator over fakes: everything in its memory is new, everything outside is the world's. */
export class FakeOperator {
  readonly woken: ResourceKey[] = [];
  readonly events: ResourceEvent[] = [];
  readonly counted: EndedOperation[] = [];
  /** Fields of the lines about what passes did. */
  readonly infos: LogFields[] = [];
  /** Fields of warnings. */
  readonly warnings: LogFields[] = [];
  /** One for each part of a log that was not counted. */
  readonly cuts: string[] = [];
  /** What was logged as an error: nothing expected is. */
  readonly errors: unknown[] = [];
  readonly ledger = new Ledger();
  readonly connected: Service;
  readonly reconciler: Reconciler;
  readonly #world: FakeWorld;

  constructor(world: FakeWorld, clusterId = "cluster-a") {
    this.#world = world;
    const { clock, store, service } = world;
    const wake = (key: ResourceKey) => void this.woken.push(key);
    const identity = { clusterId, serviceUrl: service.serviceUrl };
    const neededSinceMs = (projectId: string) => logNeededSinceMs(store.inProject(projectId), this.ledger, identity);
    this.connected = {
      identity,
      controlPlane: service,
      view: createProjectView({ controlPlane: service, clock, neededSinceMs }),
      lanes: new ProjectLanes({ clock, wake }),
      turns: new CreateTurns({ clock, wake }),
    };
    this.reconciler = new Reconciler({
      tracer: world.tracer,
      clock,
      store,
      ledger: this.ledger,
      policy: fakePolicy,
      projectPollMs: 30_000,
      random: () => 0,
      wake,
      controlPlaneFor: () => this.connected,
      events: { record: (_resource, event) => void this.events.push(event) },
      metrics: {
        countEnded: (operation) => void this.counted.push(operation),
        logCutShort: () => void this.cuts.push("cut"),
        forgetResource() {},
      },
      logger: {
        debug() {},
        info: (fields) => void this.infos.push(fields),
        warn: (fields) => void this.warnings.push(fields),
        error: (fields) => void this.errors.push(fields),
      },
    });
  }

  /** One pass. It takes time, so that a reading of the pass before is never as new as this one's. */
  async pass(key: ResourceKey): Promise<Requeue> {
    await this.#world.clock.advance(1);
    return this.reconciler.reconcile(key);
  }

  /** Passes, and time as they ask for it, until the key has nothing to do for a minute or more, or `limit` is reached. */
  async run(key: ResourceKey, limit = 200): Promise<Requeue> {
    let requeue: Requeue = { kind: "Retry" };
    for (let passes = 0; passes < limit; passes += 1) {
      requeue = await this.pass(key);
      if (requeue.kind === "Done" || (requeue.kind === "RequeueAfter" && requeue.delayMs >= 300_000)) {
        return requeue;
      }
      await this.#world.clock.advance(requeue.kind === "RequeueAfter" ? requeue.delayMs : 10);
    }
    return requeue;
  }
}
