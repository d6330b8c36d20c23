import { beforeEach, describe, expect, it } from "vitest";
import { conditionOf } from "../../../src/resource/conditions.ts";
import { annotations, finalizer } from "../../../src/resource/names.ts";
import { FakeService, type Fault } from "../../support/fakes/fake-service.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

const unknownOutcomes: readonly Fault["kind"][] = ["LoseRequest", "LoseAnswer", "ApplyLater"];

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("create", () => {
  it("a new resource → finalizer, intent, one POST, then Ready, one step a pass", async () => {
    world.store.put(asked());
    await world.operator.pass(key);
    expect(world.store.get(key)?.finalizers).toEqual([finalizer]);
    expect(world.status().createIntent).toBeUndefined();

    await world.operator.pass(key);
    expect(world.status().createIntent).toMatchObject({ branchId: "br-main-1", type: "ReadWrite", preIds: [] });
    expect(world.posts()).toBe(0);

    await world.operator.pass(key);
    expect(world.status().createIntent).toBeUndefined();
    expect(world.status().ownership).toMatchObject({ endpointId: "ep-made-1", origin: "Created" });

    await world.operator.run(key);
    expect(conditionOf(world.status().conditions, "Ready")).toMatchObject({ status: "True", observedGeneration: 1 });
    expect(world.posts()).toBe(1);
    expect(world.operator.events.map((event) => event.reason)).toEqual(["EndpointCreated", "EndpointReady"]);
    expect(world.operator.errors).toEqual([]);
  });

  it("its operation runs → in flight in status, Ready only when it has ended, counted once", async () => {
    world.service.isInstant = false;
    world.store.put(asked());
    for (let passes = 0; passes < 5; passes += 1) {
      await world.operator.pass(key);
    }
    expect(world.reason("Ready")).toBe("OperationInFlight");
    expect(world.status().operations?.[0]).toMatchObject({
      action: "start_compute",
      status: "running",
      cause: "SpecChange",
    });
    const operationId = world.status().operations?.[0]?.id;
    world.service.endOperations();
    await world.operator.run(key);
    expect(world.reason("Ready")).toBe("UpToDate");
    expect(world.operator.counted).toMatchObject([
      { operationId, action: "start_compute", outcome: "succeeded", cause: "SpecChange" },
    ]);
    expect(operationId).toBeDefined();
    world.restart();
    await world.operator.run(key);
    expect(world.operator.counted).toEqual([]);
  });

  it("settled → no write at the world.service or the API server, whatever looks at it, a restart included", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    const before = { writes: world.store.writes.length, made: world.made() };
    for (const _look of [1, 2, 3]) {
      world.restart();
      await world.clock.advance(600_000);
      await world.operator.pass(key);
    }
    expect({ writes: world.store.writes.length, made: world.made() }).toEqual(before);
    expect(world.operator.events).toEqual([]);
  });

  it("a crash between any two steps → exactly one endpoint, no twin", async () => {
    for (let crashAt = 1; crashAt <= 6; crashAt += 1) {
      world.service = new FakeService(world.clock);
      world.service.echoesNames = crashAt % 2 === 0;
      world.store.put(asked({ uid: `uid-${crashAt}` }));
      world.restart();
      for (let passes = 0; passes < crashAt; passes += 1) {
        await world.operator.pass(key);
      }
      world.restart();
      await world.operator.run(key);
      expect(world.reason("Ready"), `crash after ${crashAt} passes`).toBe("UpToDate");
      expect(world.made(), `crash after ${crashAt} passes`).toHaveLength(1);
      world.store.vanish(key);
    }
  });

  it("a crash after every single pass → exactly one endpoint", async () => {
    world.store.put(asked());
    for (let passes = 0; passes < 12; passes += 1) {
      world.restart();
      await world.operator.pass(key);
    }
    expect(world.made()).toHaveLength(1);
    expect(world.reason("Ready")).toBe("UpToDate");
  });
});

describe.each([true, false])("the answer to a POST is lost, names echoed: %s", (echoesNames) => {
  beforeEach(() => {
    world.service.echoesNames = echoesNames;
  });

  const lose = (kind: Fault["kind"]) => world.service.failNext("createEndpoint", { kind } as Fault);

  it.each(unknownOutcomes.flatMap((kind) => [[kind, false] as const, [kind, true] as const]))(
    "read-write, %s, crash %s → exactly one endpoint",
    async (kind, hasCrashed) => {
      world.store.put(asked());
      lose(kind);
      for (let passes = 0; passes < 3; passes += 1) {
        await world.operator.pass(key);
      }
      if (hasCrashed) {
        world.restart();
      }
      await world.clock.advance(1_500);
      world.service.landLate();
      await world.operator.run(key);
      expect(world.reason("Ready")).toBe("UpToDate");
      expect(world.made()).toHaveLength(1);
      expect(world.status().createIntent).toBeUndefined();
    },
  );

  it.each(unknownOutcomes.flatMap((kind) => [[kind, false] as const, [kind, true] as const]))(
    "read-only, %s, crash %s → one endpoint, or a question where nobody can know",
    async (kind, hasCrashed) => {
      world.store.put(asked({ spec: { type: "ReadOnly" } }));
      lose(kind);
      for (let passes = 0; passes < 3; passes += 1) {
        await world.operator.pass(key);
      }
      if (hasCrashed) {
        world.restart();
      }
      await world.clock.advance(1_500);
      world.service.landLate();
      await world.operator.run(key);
      const isAmbiguous = kind !== "LoseRequest" && !echoesNames;
      expect(world.made()).toHaveLength(1);
      expect(world.reason("Ready")).toBe(isAmbiguous ? "CreateAmbiguous" : "UpToDate");
      expect(world.operator.errors).toEqual([]);
    },
  );

  it("read-only, nothing landed → no second POST before the settle time", async () => {
    world.store.put(asked({ spec: { type: "ReadOnly" } }));
    lose("LoseRequest");
    for (let passes = 0; passes < 3; passes += 1) {
      await world.operator.pass(key);
    }
    for (let second = 0; second < 149; second += 1) {
      await world.clock.advance(1_000);
      await world.operator.pass(key);
    }
    expect(world.posts()).toBe(0);
    expect(world.reason("Reconciling")).toBe("CreateUnresolved");
    await world.operator.run(key);
    expect(world.posts()).toBe(1);
  });

  it("read-only, deleted meanwhile, lands late → is found and deleted before the finalizer goes", async () => {
    world.store.put(asked({ spec: { type: "ReadOnly", deletionPolicy: "Delete" } }));
    lose("ApplyLater");
    for (let passes = 0; passes < 3; passes += 1) {
      await world.operator.pass(key);
    }
    world.store.delete(key);
    await world.operator.pass(key);
    expect(world.store.get(key)).toBeDefined();
    world.service.landLate();
    await world.operator.run(key);
    if (echoesNames) {
      expect(world.made()).toEqual([]);
      expect(world.store.get(key)).toBeUndefined();
    } else {
      expect(world.reason("Stalled")).toBe("CreateAmbiguous");
    }
  });
});

describe("an ambiguous create", () => {
  beforeEach(async () => {
    world.store.put(asked({ spec: { type: "ReadOnly" } }));
    world.service.failNext("createEndpoint", { kind: "LoseAnswer" });
    await world.operator.run(key);
  });

  const answer = (value: string) =>
    world.store.edit(key, (resource) => ({
      annotations: { ...resource.annotations, [annotations.resolveCreate]: value },
    }));

  it("a person says adopt → Ready with that one", async () => {
    answer("adopt=ep-made-1");
    await world.operator.run(key);
    expect(world.status().ownership).toMatchObject({ endpointId: "ep-made-1", origin: "Adopted" });
    expect(world.reason("Ready")).toBe("UpToDate");
  });

  it("a person says abandon → another one is made, and the suspect is left alone", async () => {
    answer(`abandon=${world.status().createIntent?.attempt}`);
    await world.operator.run(key);
    expect(world.status().ownership).toMatchObject({ endpointId: "ep-made-3", origin: "Created" });
    expect(world.made()).toEqual(["ep-made-1", "ep-made-3"]);
  });

  it("deleted with Retain → goes, and says what was abandoned", async () => {
    world.store.edit(key, (resource) => ({
      spec: asked({ spec: { type: "ReadOnly", deletionPolicy: "Retain" } }).spec,
      generation: resource.generation + 1,
    }));
    world.store.delete(key);
    await world.operator.run(key);
    expect(world.store.get(key)).toBeUndefined();
    expect(world.operator.events.at(-1)).toMatchObject({ type: "Warning", reason: "CreateAbandoned" });
  });

  it("another replica of the branch is asked for → does not wait for the answer", async () => {
    const second = { namespace: "shop", name: "second" };
    world.store.put(asked({ name: "second", spec: { type: "ReadOnly" } }));
    await world.operator.run(second);
    expect(world.reason("Ready", second)).toBe("UpToDate");
    await world.operator.run(key);
    expect(world.status().createIntent?.suspectIds).toEqual(["ep-made-1"]);
  });
});

describe("a POST that is refused", () => {
  it("423 → sent again, never counted as a failure", async () => {
    world.store.put(asked());
    world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Locked" });
    await world.operator.run(key);
    expect(world.made()).toHaveLength(1);
    expect(world.operator.events.every(({ type }) => type === "Normal")).toBe(true);
  });

  it("503 → sent again after a while", async () => {
    world.store.put(asked());
    world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Unavailable" });
    await world.operator.run(key);
    expect(world.made()).toHaveLength(1);
  });

  it("422 for long → Reconciling for five minutes, then Stalled Rejected, and at once after an edit", async () => {
    world.store.put(asked());
    world.service.beforeCall = (method) => {
      if (method === "createEndpoint") {
        world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
      }
    };
    world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
    for (let passes = 0; passes < 4; passes += 1) {
      await world.operator.pass(key);
    }
    expect(world.reason("Reconciling")).toBe("Retrying");
    expect(world.status().createIntent).toBeUndefined();
    await world.operator.run(key);
    expect(world.reason("Stalled")).toBe("Rejected");
    const sent = world.posts();
    await world.operator.pass(key);
    expect(world.posts()).toBe(sent);
    world.service.beforeCall = () => {};
    world.service.failNext("createEndpoint", { kind: "Refuse", reason: "Rejected" });
    world.store.edit(key, (resource) => ({ generation: resource.generation + 1 }));
    await world.operator.pass(key);
    await world.operator.pass(key);
    expect(world.posts()).toBe(sent + 1);
  });

  it("after a lost one 409 → the intent stays open: the lost one may be what is there", async () => {
    world.store.put(asked());
    world.service.failNext("createEndpoint", { kind: "LoseAnswer" });
    world.service.echoesNames = true;
    await world.operator.run(key);
    expect(world.status().ownership).toMatchObject({ origin: "Created" });
    expect(world.made()).toHaveLength(1);
  });
});
