import { beforeEach, describe, expect, it } from "vitest";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { annotations } from "../../../src/resource/names.ts";
import { fakePolicy } from "../../support/fakes/fake-operator.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("deletion", () => {
  it("of a created one → endpoint deleted, then the finalizer goes", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.store.delete(key);
    await world.operator.run(key);
    expect(world.made()).toEqual([]);
    expect(world.store.get(key)).toBeUndefined();
    expect(world.operator.events.at(-1)?.reason).toBe("EndpointDeleted");
  });

  it("the answer to DELETE is lost, and a crash → gone all the same, finalizer after it", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.store.delete(key);
    world.service.failNext("deleteEndpoint", { kind: "LoseAnswer" });
    await world.operator.pass(key);
    expect(world.store.get(key)).toBeDefined();
    world.restart();
    await world.operator.run(key);
    expect(world.store.get(key)).toBeUndefined();
    expect(world.made()).toEqual([]);
  });

  it("the key is refused → Reconciling with the remedy, which works without the service", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.store.delete(key);
    world.service.beforeCall = (method) => world.service.failNext(method, { kind: "Refuse", reason: "Unauthorized" });
    world.service.failNext("listOperations", { kind: "Refuse", reason: "Unauthorized" });
    await world.operator.pass(key);
    await world.operator.pass(key);
    expect(conditionOf(world.status().conditions, "Reconciling")?.message).toContain("Retain");
    world.store.edit(key, (resource) => ({
      spec: asked({ spec: { deletionPolicy: "Retain" } }).spec,
      generation: resource.generation + 1,
    }));
    await world.operator.pass(key);
    expect(world.store.get(key)).toBeUndefined();
    expect(world.made()).toHaveLength(1);
  });
});

describe("failed calls", () => {
  it("an update refused → held back until its time, whatever wakes the key, and tried at once on an edit or a wish", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const updates = () => world.service.calls.filter((method) => method === "updateEndpoint").length;
    const disable = (disabled: boolean) =>
      world.store.edit(key, (resource) => ({
        spec: asked({ spec: { disabled } }).spec,
        generation: resource.generation + 1,
      }));
    world.service.failNext("updateEndpoint", { kind: "Refuse", reason: "Malformed" });
    disable(true);
    await world.operator.pass(key);
    expect(updates()).toBe(1);
    for (const _wake of [1, 2, 3]) {
      await world.clock.advance(1_000);
      const requeue = await world.operator.pass(key);
      expect(requeue).toMatchObject({ kind: "RequeueAfter" });
    }
    expect(updates()).toBe(1);
    expect(world.reason("Stalled")).toBe("Rejected");

    world.service.failNext("updateEndpoint", { kind: "Refuse", reason: "Malformed" });
    world.store.edit(key, () => ({ annotations: { [annotations.reconcileRequestedAt]: "now" } }));
    await world.operator.pass(key);
    expect(updates()).toBe(2);
    expect(world.status().lastHandledReconcileAt).toBe("now");
    await world.operator.pass(key);
    expect(updates()).toBe(2);

    disable(true);
    await world.operator.run(key);
    expect(updates()).toBe(3);
    expect(world.reason("Ready")).toBe("UpToDate");
  });

  it("a read fails → nothing is decided, and a Ready resource stays Ready for half a minute", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    await world.clock.advance(fakePolicy.resyncMs);
    world.service.failNext("listEndpoints", { kind: "Refuse", reason: "Unavailable" });
    await world.operator.pass(key);
    expect(world.reason("Ready")).toBe("UpToDate");
    expect(world.made()).toHaveLength(1);
  });

  it("a list without the endpoint while a read by id finds it → it is not forgotten", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const [id = ""] = world.made();
    const endpoint = world.service.endpoints.get(id);
    world.service.endpoints.delete(id);
    world.service.beforeCall = (method) => {
      if (method === "getEndpoint" && endpoint !== undefined) {
        world.service.add(endpoint);
      }
    };
    await world.clock.advance(fakePolicy.resyncMs);
    await world.operator.pass(key);
    expect(world.status().ownership?.endpointId).toBe(id);
    expect(world.posts()).toBe(1);
  });

  it("gone by another hand → an event, and another one", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.service.endpoints.clear();
    await world.clock.advance(fakePolicy.resyncMs);
    await world.operator.run(key);
    expect(world.operator.events.map((event) => event.reason)).toContain("EndpointGone");
    expect(world.made()).toHaveLength(1);
    expect(world.reason("Ready")).toBe("UpToDate");
  });
});

describe("pause", () => {
  it("paused with an edit → nothing but status; unpaused → the edit is carried out", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const writes = () => world.service.calls.filter((call) => !/^(list|get)/.test(call));
    const before = writes();
    world.store.edit(key, (resource) => ({
      spec: asked({ spec: { disabled: true } }).spec,
      generation: resource.generation + 1,
      annotations: { [annotations.paused]: "true" },
    }));
    await world.operator.run(key);
    expect(conditionOf(world.status().conditions, "Ready")).toMatchObject({ status: "Unknown", reason: "Paused" });
    expect(writes()).toEqual(before);
    world.store.edit(key, () => ({ annotations: {} }));
    await world.operator.run(key);
    expect(world.service.endpoints.get(world.made()[0] ?? "")?.disabled).toBe(true);
    expect(world.reason("Ready")).toBe("UpToDate");
  });
});
