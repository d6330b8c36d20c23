import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import { FakeService } from "../../support/fakes/fake-service.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("the resource is not what it was when the POST is answered", () => {
  const duringPost = (act: () => void) => {
    world.service.beforeCall = (method) => {
      if (method === "createEndpoint") {
        world.service.beforeCall = () => {};
        act();
      }
    };
  };

  it("edited → ownership is stored over the conflict, no second POST", async () => {
    world.store.put(asked());
    duringPost(() => world.store.edit(key, (resource) => ({ generation: resource.generation + 1 })));
    await world.operator.run(key);
    expect(world.posts()).toBe(1);
    expect(world.status().ownership).toMatchObject({ endpointId: "ep-made-1" });
  });

  it("being deleted → ownership is stored, then the endpoint is deleted", async () => {
    world.store.put(asked());
    duringPost(() => world.store.delete(key));
    await world.operator.run(key);
    expect(world.made()).toEqual([]);
    expect(world.store.get(key)).toBeUndefined();
  });

  it("gone by force → the endpoint this POST made is deleted", async () => {
    world.store.put(asked());
    duringPost(() => world.store.vanish(key));
    await world.operator.run(key);
    expect(world.posts()).toBe(1);
    expect(world.made()).toEqual([]);
  });

  it("gone by force, and the deletion fails at first → tried until it is gone", async () => {
    world.store.put(asked());
    duringPost(() => world.store.vanish(key));
    world.service.failNext("deleteEndpoint", { kind: "Refuse", reason: "Locked" });
    await world.operator.run(key);
    expect(world.made()).toEqual([]);
  });

  it("replaced under the same name → the old one's endpoint is deleted, the new one gets its own", async () => {
    world.store.put(asked());
    duringPost(() => {
      world.store.vanish(key);
      world.store.put(asked({ uid: "uid-second" }));
    });
    await world.operator.run(key);
    expect(world.made()).toHaveLength(1);
    expect(world.status().ownership).toMatchObject({ resourceUid: "uid-second", endpointId: world.made()[0] });
  });

  it("gone by force during its create → the turn of the place is free again", async () => {
    world.store.put(asked({ spec: { type: "ReadOnly" } }));
    duringPost(() => world.store.vanish(key));
    await world.operator.run(key);
    const second = { namespace: "shop", name: "second" };
    world.store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    await world.operator.run(second);
    expect(world.reason("Ready", second)).toBe("UpToDate");
  });

  it("replaced by force with its create open → the new one does not wait for the dead one", async () => {
    world.store.put(asked({ spec: { type: "ReadOnly" } }));
    world.service.failNext("createEndpoint", { kind: "LoseRequest" });
    for (let passes = 0; passes < 3; passes += 1) {
      await world.operator.pass(key);
    }
    world.store.vanish(key);
    world.store.put(asked({ uid: "uid-second", spec: { type: "ReadOnly" } }));
    await world.operator.run(key);
    expect(world.reason("Ready")).toBe("UpToDate");
    expect(world.made()).toHaveLength(1);
  });

  it("edited between the observation and the POST → no POST under an old plan", async () => {
    world.store.put(asked());
    await world.operator.pass(key);
    await world.operator.pass(key);
    // The reading that the intent was made from is too old by then to post by.
    await world.clock.advance(5_001);
    let reads = 0;
    world.service.beforeCall = (method) => {
      if (method === "listEndpoints" && reads === 0) {
        reads += 1;
        world.store.edit(key, (resource) => ({ generation: resource.generation + 1 }));
      }
    };
    expect(await world.operator.pass(key)).toEqual({ kind: "Retry" });
    expect(world.posts()).toBe(0);
  });

  it("the status patch of the answer fails for long → no second POST, ownership in the end", async () => {
    world.store.put(asked());
    let failures = 0;
    world.store.beforeWrite = (write) => {
      if (write === "patchStatus" && world.posts() > 0 && failures < 8) {
        failures += 1;
        world.store.edit(key, () => ({}));
      }
    };
    await world.operator.run(key);
    expect(world.posts()).toBe(1);
    expect(world.made()).toHaveLength(1);
    expect(world.reason("Ready")).toBe("UpToDate");
  });
});

describe("the answer to a write at the API server is lost", () => {
  it("after any of them, with or without a crash → exactly one endpoint, Ready, and one POST", async () => {
    for (const hasCrashed of [false, true]) {
      for (let lostAt = 1; lostAt <= 5; lostAt += 1) {
        const name = `lost-${lostAt}-${hasCrashed}`;
        const at = { namespace: "shop", name };
        world.service = new FakeService(world.clock);
        world.service.echoesNames = hasCrashed;
        world.restart();
        world.store.put(asked({ name }));
        let writes = 0;
        world.store.afterWrite = () => {
          writes += 1;
          if (writes === lostAt) {
            if (hasCrashed) {
              world.restart();
            }
            throw new KubernetesError("TimedOut", "no answer in time");
          }
        };
        for (let passes = 0; passes < 40; passes += 1) {
          await world.operator.pass(at);
          await world.clock.advance(500);
        }
        expect(world.reason("Ready", at), name).toBe("UpToDate");
        expect(world.made(), name).toHaveLength(1);
        expect(world.posts(), name).toBe(1);
        world.store.afterWrite = () => {};
        world.store.vanish(at);
      }
    }
  });

  it("after the finalizer went → nothing is left, and nothing is made again", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    world.store.delete(key);
    world.store.afterWrite = (write) => {
      if (write === "removeFinalizer") {
        world.store.vanish(key);
        throw new KubernetesError("TimedOut", "no answer in time");
      }
    };
    await world.operator.run(key);
    expect([world.made(), world.store.get(key)]).toEqual([[], undefined]);
  });
});
