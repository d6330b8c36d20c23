import { expect } from "vitest";
import type { Operation } from "../../../src/domain/operation.ts";
import type { ResourceKey } from "../../../src/domain/resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

/** A world in which things happen at the service that no call of ours started, and what all processes have counted. */
export class LedgerScene {
  readonly world = new ReconcilerWorld();
  #earlier: readonly string[] = [];
  #skewMs = 0;

  /** Ids of what was counted, by this process and those before it. */
  counted(): readonly string[] {
    return [...this.#earlier, ...this.world.operator.counted.map(({ operationId }) => operationId)].sort();
  }

  restart(): void {
    this.#earlier = this.counted();
    this.world.restart();
  }

  /** What was counted so far does not matter. */
  forgetCounts(): void {
    this.world.restart();
    this.#earlier = [];
  }

  /** The service's clock goes wrong by so much. For an empty world. */
  skewService(milliseconds: number): void {
    const { clock } = this.world;
    this.#skewMs = milliseconds;
    this.world.service = new FakeService({
      nowMs: () => clock.nowMs() + milliseconds,
      monotonicMs: () => clock.monotonicMs(),
      after: clock.after.bind(clock),
    });
    this.world.restart();
  }

  /** Puts an operation of the first endpoint into the service's log, as of now. */
  log(id: string, change: Partial<Operation> = {}): void {
    const time = this.serviceTime();
    this.world.service.operations.push({
      ...{ id, projectId: "green-fox-123456", branchId: "br-main-1", endpointId: this.world.made()[0] },
      ...{ action: "suspend_compute", status: "finished", failuresCount: 0 },
      ...{ createdTime: time, updatedTime: time, totalDurationMs: undefined, error: undefined, ...change },
    });
  }

  /** An operation goes on. */
  change(id: string, change: Partial<Operation>): void {
    const { operations } = this.world.service;
    const at = operations.findIndex((each) => each.id === id);
    operations[at] = { ...(operations[at] as Operation), updatedTime: this.serviceTime(), ...change };
  }

  serviceTime(): string {
    return new Date(this.world.clock.nowMs() + this.#skewMs).toISOString();
  }

  /** Applies a resource, and waits until it is Ready. */
  async ready(name = "orders", spec: Readonly<Record<string, unknown>> = {}): Promise<void> {
    this.world.store.put(asked({ name, spec }));
    await this.world.operator.run({ namespace: "shop", name });
    expect(this.world.reason("Ready", { namespace: "shop", name })).toBe("UpToDate");
  }

  /** Time, so that one thing comes after the other, and a look. */
  async look(at: ResourceKey = key): Promise<void> {
    await this.world.clock.advance(31_000);
    await this.world.operator.run(at);
  }

  async move({ name, namespace }: ResourceKey, branchId: string): Promise<void> {
    const { spec } = asked({ name, spec: { branchId } });
    this.world.store.edit({ name, namespace }, ({ generation }) => ({ generation: generation + 1, spec }));
    await this.world.operator.run({ name, namespace });
  }
}
