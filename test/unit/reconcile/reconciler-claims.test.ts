import { beforeEach, describe, expect, it } from "vitest";
import { finalizer } from "../../../src/resource/names.ts";
import { settlePromises } from "../../support/fake-clock.ts";
import { asked, ReconcilerWorld } from "./reconciler-world.ts";

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("two resources, one endpoint", () => {
  const first = { namespace: "shop", name: "first" };
  const second = { namespace: "shop", name: "second" };
  const adopting = { adoption: { policy: "AdoptOrCreate" } };
  const foreign = () => {
    world.store.put(asked({ name: "seed" }));
    return world.operator
      .run({ namespace: "shop", name: "seed" })
      .then(() => world.store.vanish({ namespace: "shop", name: "seed" }));
  };
  const owners = () => [first, second].filter((each) => world.status(each).ownership !== undefined);

  it("both would adopt it, passes interleaved → one owner, the other Stalled ClaimedByAnother", async () => {
    await foreign();
    world.store.put(asked({ name: "first", spec: adopting }));
    world.store.put(asked({ name: "second", spec: adopting }));
    for (let passes = 0; passes < 6; passes += 1) {
      await Promise.all([world.operator.pass(first), world.operator.pass(second)]);
    }
    expect(owners()).toEqual([first]);
    expect(world.reason("Stalled", second)).toBe("ClaimedByAnother");
  });

  it("the elder's stall ends while the younger adopts → one owner", async () => {
    await foreign();
    const stalled = {
      type: "Stalled",
      status: "True",
      reason: "Rejected",
      message: "no",
      observedGeneration: 1,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    } as const;
    const ready = { ...stalled, type: "Ready", status: "False" } as const;
    world.store.put({
      ...asked({ name: "first", spec: adopting }),
      finalizers: [finalizer],
      status: { conditions: [ready, stalled] },
    });
    world.store.put({ ...asked({ name: "second", spec: adopting }), finalizers: [finalizer] });
    // Both passes have begun before either reads, and both patches are under way at once.
    world.service.beforeCall = settlePromises;
    world.store.beforeWrite = settlePromises;
    for (let passes = 0; passes < 4; passes += 1) {
      await Promise.all([world.operator.pass(second), world.operator.pass(first)]);
    }
    expect(owners()).toHaveLength(1);
  });

  it("two replicas at once → one create after the other, two endpoints", async () => {
    world.store.put(asked({ name: "first", spec: { type: "ReadOnly" } }));
    world.store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    for (let passes = 0; passes < 10; passes += 1) {
      await Promise.all([world.operator.pass(first), world.operator.pass(second)]);
      await world.clock.advance(500);
    }
    expect(world.made()).toHaveLength(2);
    expect(new Set([first, second].map((each) => world.status(each).ownership?.endpointId)).size).toBe(2);
    expect(world.operator.errors).toEqual([]);
  });

  it("a read fails while a replica waits for the other's create, then works → its row of failures has ended", async () => {
    world.store.put(asked({ name: "first", spec: { type: "ReadOnly" } }));
    world.store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(first);
    await world.operator.pass(second);
    await world.clock.advance(31_000);
    world.service.failNext("listEndpoints", { kind: "Refuse", reason: "ServerError" });
    await world.operator.pass(second);
    const failure = () => world.operator.ledger.memoryOf("uid-second").failure;
    expect(failure()).toBeDefined();
    await world.operator.pass(second);
    expect([failure(), world.reason("Reconciling", second)]).toEqual([undefined, "ServiceUnavailable"]);
    await world.clock.advance(5_000);
    await world.operator.pass(second);
    expect(world.reason("Reconciling", second)).toBe("WaitingForProject");
  });

  it("the elder turns to another branch → the one that was turned away is looked at", async () => {
    world.store.put(asked({ name: "first" }));
    world.store.put(asked({ name: "second" }));
    await world.operator.pass(first);
    await world.operator.run(second);
    expect(world.reason("Stalled", second)).toBe("ClaimedByAnother");
    world.operator.woken.length = 0;
    world.store.edit(first, (resource) => ({
      spec: asked({ spec: { branchId: "br-other-2" } }).spec,
      generation: resource.generation + 1,
    }));
    await world.operator.pass(first);
    expect(world.operator.woken).toContainEqual(second);
  });

  it("423 that no list explains → the whole project waits for half a second", async () => {
    const updates = () => world.service.calls.filter((method) => method === "updateEndpoint").length;
    for (const [name, branchId] of [
      ["first", "br-main-1"],
      ["second", "br-other-2"],
    ] as const) {
      world.store.put(asked({ name, spec: { branchId } }));
      await world.operator.run({ namespace: "shop", name });
      world.store.edit({ namespace: "shop", name }, (resource) => ({
        spec: asked({ spec: { branchId, disabled: true } }).spec,
        generation: resource.generation + 1,
      }));
    }
    world.service.failNext("updateEndpoint", { kind: "Refuse", reason: "Locked" });
    await world.operator.pass(first);
    await world.operator.pass(second);
    expect(updates()).toBe(1);
    await world.clock.advance(500);
    await world.operator.pass(second);
    await world.operator.pass(first);
    expect(updates()).toBe(2);
    expect(world.status(first).state).toBeDefined();
    expect(world.service.endpoints.get(world.status(first).ownership?.endpointId ?? "")?.disabled).toBe(true);
  });

  it("the owner's stored spec has lost its project → it owns all the same, and its end is told to who was turned away", async () => {
    world.store.put(asked({ name: "first" }));
    await world.operator.run(first);
    world.store.edit(first, ({ generation }) => ({
      spec: { kind: "Invalid", problems: "spec.projectId: missing", projectId: undefined, deletionPolicy: undefined },
      generation: generation + 1,
    }));
    world.store.put(asked({ name: "second", spec: adopting }));
    await world.operator.run(first);
    await world.operator.run(second);
    expect(owners()).toEqual([first]);
    expect(world.reason("Stalled", second)).toBe("ClaimedByAnother");
    world.operator.woken.length = 0;
    world.store.delete(first);
    await world.operator.run(first);
    expect(world.store.get(first)).toBeUndefined();
    expect(world.operator.woken).toContainEqual(second);
  });

  it("the owner goes → the one that was turned away is looked at", async () => {
    world.store.put(asked({ name: "first" }));
    world.store.put(asked({ name: "second" }));
    await world.operator.run(first);
    await world.operator.run(second);
    expect(world.reason("Stalled", second)).toBe("ClaimedByAnother");
    world.operator.woken.length = 0;
    world.store.delete(first);
    await world.operator.run(first);
    expect(world.operator.woken).toContainEqual(second);
    await world.operator.run(second);
    expect(world.reason("Ready", second)).toBe("UpToDate");
  });
});
