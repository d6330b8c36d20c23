/** Toys, their service and the engine, for tests of what the engine gives to every kind. */
import type { ControlPlaneError } from "../../../src/domain/control-plane-error.ts";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { annotations } from "../../../src/resource/names.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeEngine } from "../../support/fakes/fake-engine.ts";
import { FakeService, projectId } from "../../support/fakes/fake-service.ts";
import { FakeStore } from "../../support/fakes/fake-store.ts";
import { type Toy, ToyKind, type ToyStatus, toyFinalizer } from "./toy-kind.ts";

const key = { namespace: "shop", name: "toy" };

export const toyStore = () =>
  new FakeStore<Toy, ToyStatus>({
    finalizer: toyFinalizer,
    indexesOf: () => [],
    parseStatus: (stored) => stored as ToyStatus,
  });

export class ToyScene {
  readonly clock = new FakeClock();
  /** Writes to the API server and changes of the control plane, in their order. */
  readonly steps: string[] = [];
  readonly service = new FakeService(this.clock, this.steps);
  readonly store = toyStore();
  readonly kind = new ToyKind(this.store);
  readonly engine: FakeEngine;

  /** @param others further kinds, which come after the first one */
  constructor(others: readonly ToyKind[] = []) {
    this.engine = new FakeEngine({
      clock: this.clock,
      kinds: [this.kind, ...others],
      controlPlane: this.service.controlPlane,
      identity: { clusterId: "cluster-a", serviceUrl: this.service.controlPlane.serviceUrl },
      policy: { createSettleMs: 20_000, operationPollMs: 5_000, resyncMs: 600_000 },
    });
    this.store.afterWrite = (write) => void this.steps.push(write);
  }

  /** Creates the toy, or changes its spec. */
  apply(size: number, more: Partial<Toy> = {}): void {
    const known = this.store.get(more.key ?? key);
    const first = {
      key,
      uid: "uid-toy",
      resourceVersion: "",
      generation: 0,
      creationTimestamp: "2026-01-01T00:00:00Z",
      deletionTimestamp: undefined,
      finalizers: [],
      annotations: {},
      status: {},
    };
    const before = known ?? first;
    const spec = { kind: "Valid", spec: { size } } as const;
    this.store.put({ ...before, generation: before.generation + 1, spec, ...more });
  }

  annotate(annotation: keyof typeof annotations, value: string): void {
    this.store.edit(key, (toy) => ({ annotations: { ...toy.annotations, [annotations[annotation]]: value } }));
  }

  delete(): void {
    this.store.delete(key);
  }

  get toy(): Toy | undefined {
    return this.store.get(key);
  }

  get object() {
    return [...this.service.objects.values()][0];
  }

  /** The reason of Ready; "Stalled" before it if the toy is Stalled. */
  get state(): string | undefined {
    const { conditions } = this.toy?.status ?? {};
    const prefix = conditionOf(conditions, "Stalled") === undefined ? "" : "Stalled ";
    const reason = conditionOf(conditions, "Ready")?.reason;
    return reason && prefix + reason;
  }

  /** The changes that were sent. */
  get sent(): readonly string[] {
    return this.steps.filter((step) => ["create", "update", "delete"].includes(step));
  }

  reconcile() {
    return this.engine.reconcile(projectId);
  }

  pass(durationMs: number, everyMs = 1_000): Promise<void> {
    return this.engine.pass(projectId, durationMs, everyMs);
  }

  /** Makes a toy that is Ready. */
  static async ready(): Promise<ToyScene> {
    const scene = new ToyScene();
    scene.apply(1);
    await scene.pass(5_000);
    return scene;
  }

  /** Makes each change fail before it takes effect. */
  refuse(error: ControlPlaneError | undefined): void {
    this.service.aroundChange = (_, side) => (side === "Before" ? error : undefined);
  }
}
