import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { LedgerScene } from "./ledger-scene.ts";
import { asked, key, type ReconcilerWorld } from "./reconciler-world.ts";

const billing = { namespace: "shop", name: "billing" };
const branches = { main: "br-main-1", second: "br-second-2", third: "br-third-3" } as const;

let scene: LedgerScene;
let world: ReconcilerWorld;

beforeEach(() => {
  scene = new LedgerScene();
  world = scene.world;
});

const timesCounted = (id: string) => scene.counted().filter((each) => each === id).length;

describe.each([
  ["as ours", 0],
  ["an hour behind", -3_600_000],
  ["an hour ahead", 3_600_000],
])("an adopted endpoint, the service's clock %s", (_name, skewMs) => {
  beforeEach(async () => {
    scene.skewService(skewMs);
    await scene.ready();
    // Another hand's endpoint, with a history of its own: ours, given away.
    world.store.vanish(key);
    await world.clock.advance(5_000);
    scene.log("op-before", { status: "failed", failuresCount: 1 });
    scene.log("op-across", { status: "running", action: "apply_config" });
    scene.forgetCounts();
    const adoption = { policy: "AdoptOnly", endpointId: world.made()[0] };
    world.store.put(asked({ uid: "uid-adopter", spec: { adoption } }));
    await world.operator.run(key);
  });

  it("what had ended → is history: not counted, no failure", () => {
    expect(scene.counted()).toEqual([]);
    expect(world.status().failedActions).toBeUndefined();
  });

  it("what fails in the first second → is counted, and a failure", async () => {
    await world.clock.advance(500);
    scene.log("op-after", { status: "failed", failuresCount: 1, error: "no room" });
    await scene.look();
    expect(scene.counted()).toEqual(["op-after"]);
    expect(world.status().failedActions).toMatchObject([{ operationId: "op-after", error: "no room" }]);
  });

  it("what was in flight and fails → is counted once, and a failure, whichever process sees it", async () => {
    scene.restart();
    scene.change("op-across", { status: "failed", failuresCount: 1 });
    await scene.look();
    scene.restart();
    await scene.look();
    expect(scene.counted()).toEqual(["op-across"]);
    expect(world.status().failedActions).toMatchObject([{ operationId: "op-across" }]);
  });
});

describe("an operation that names a branch only", () => {
  const onBranch = (id: string, status = "finished") =>
    scene.log(id, { branchId: branches.main, endpointId: undefined, action: "apply_config", status });

  it("one resource leaves the branch, another one comes → each is counted once, by who had it", async () => {
    await scene.ready();
    await scene.ready("billing", { branchId: branches.second });
    onBranch("op-a");
    await scene.look();
    await scene.move(key, branches.third);
    onBranch("op-nobody");
    await scene.look(billing);
    await scene.move(billing, branches.main);
    await world.clock.advance(1_000);
    onBranch("op-b");
    for (const at of [key, billing]) await scene.look(at);
    scene.restart();
    for (const at of [key, billing]) await scene.look(at);
    expect(["op-a", "op-nobody", "op-b"].map(timesCounted)).toEqual([1, 0, 1]);
    expect(world.operator.counted, "nothing again after the restart").toEqual([]);
  });

  it("in flight while its resource leaves the branch → is counted by that one alone", async () => {
    await scene.ready();
    await scene.ready("billing", { branchId: branches.second });
    scene.log("op-long", { endpointId: undefined, action: "check_availability", status: "running" });
    // Another change makes the status be written, and with it what is waited for.
    scene.log("op-else");
    await scene.look();
    await scene.move(key, branches.third);
    await scene.move(billing, branches.main);
    scene.change("op-long", { status: "finished" });
    for (const at of [billing, key, billing]) await scene.look(at);
    expect(world.operator.counted.filter(({ operationId }) => operationId === "op-long")).toMatchObject([
      { name: "orders" },
    ]);
  });

  it("paused, and moved by another hand → that the branch is another one is stored", async () => {
    await scene.ready();
    world.store.edit(key, () => ({ annotations: { "endpoint-operator.dev/paused": "true" } }));
    await scene.look();
    const [endpoint] = [...world.service.endpoints.values()];
    if (endpoint !== undefined) world.service.endpoints.set(endpoint.id, { ...endpoint, branchId: branches.third });
    await scene.look();
    expect(world.status().operationWatermark?.branch?.id).toBe(branches.third);
  });

  it("a replica of the branch → is not counted by it, but by whoever has its read-write endpoint", async () => {
    await scene.ready();
    await scene.ready("billing", { type: "ReadOnly" });
    onBranch("op-a");
    await scene.look(billing);
    expect(timesCounted("op-a")).toBe(0);
    await scene.look();
    expect(timesCounted("op-a")).toBe(1);
  });
});

describe("an endpoint that goes", () => {
  it("deleted by another hand, what that started shows up later → is counted, and no failure of the new one", async () => {
    await scene.ready();
    const [endpointId] = world.made();
    world.service.endpoints.delete(endpointId as string);
    world.store.edit(key, ({ generation }) => ({ generation: generation + 1 }));
    await world.operator.run(key);
    expect(world.made()).not.toContain(endpointId);
    scene.log("op-left", { endpointId, status: "failed", failuresCount: 1 });
    scene.restart();
    await scene.look();
    await scene.look();
    expect(timesCounted("op-left")).toBe(1);
    expect(world.status().failedActions).toBeUndefined();
  });

  it("with its resource, what ended since the last look → is counted once, when the finalizer has gone", async () => {
    await scene.ready();
    world.store.delete(key);
    let refusals = 0;
    world.store.beforeWrite = (write) => {
      if (write === "removeFinalizer" && refusals < 2) {
        refusals += 1;
        scene.log(`op-late-${refusals}`, { endpointId: world.status().ownership?.endpointId });
        throw new Error("not now");
      }
    };
    await world.operator.run(key);
    expect(world.store.get(key)).toBeUndefined();
    expect(["op-late-1", "op-late-2"].map(timesCounted)).toEqual([1, 1]);
  });
});

describe("the answer to the removal of the finalizer is lost", () => {
  /** The first removal is refused, so that something can end before the second, whose answer is lost. */
  const loseAnswer = (isApplied: boolean) => {
    const removeFinalizer = world.store.removeFinalizer.bind(world.store);
    const lost = new KubernetesError("TimedOut", "no answer");
    world.store.removeFinalizer = (refused) => {
      scene.log("op-late", { endpointId: refused.status.ownership?.endpointId });
      world.store.removeFinalizer = async (resource) => {
        world.store.removeFinalizer = removeFinalizer;
        if (isApplied) await removeFinalizer(resource);
        throw lost;
      };
      return Promise.reject(new KubernetesError("Conflict", "not now"));
    };
  };

  it.each([true, false])("it took effect: %s → what ended just before is counted once", async (isApplied) => {
    await scene.ready();
    world.store.delete(key);
    loseAnswer(isApplied);
    await world.operator.run(key);
    await scene.look();
    expect(world.store.get(key)).toBeUndefined();
    expect(timesCounted("op-late")).toBe(1);
  });
});

describe("the answer to the status write that counts is lost", () => {
  const loseAnswerOnce = (at: "beforeWrite" | "afterWrite") => {
    world.store[at] = () => {
      world.store[at] = () => {};
      throw new KubernetesError("TimedOut", "no answer");
    };
  };

  beforeEach(async () => {
    await scene.ready();
    scene.log("op-a");
  });

  it.each(["beforeWrite", "afterWrite"] as const)("lost %s → is counted once all the same", async (at) => {
    loseAnswerOnce(at);
    await world.clock.advance(31_000);
    await world.operator.pass(key);
    expect(timesCounted("op-a")).toBe(0);
    await scene.look();
    await scene.look();
    expect(timesCounted("op-a")).toBe(1);
  });

  it("it was stored, and the process ends → is not counted again by the next one", async () => {
    loseAnswerOnce("afterWrite");
    await world.clock.advance(31_000);
    await world.operator.pass(key);
    scene.restart();
    await scene.look();
    expect(timesCounted("op-a")).toBe(0);
  });

  it("it was not stored, and something else was → what that counted is not counted again", async () => {
    loseAnswerOnce("beforeWrite");
    await world.clock.advance(31_000);
    await world.operator.pass(key);
    scene.log("op-b");
    await scene.look();
    expect(["op-a", "op-b"].map(timesCounted)).toEqual([1, 1]);
  });

  it("it is applied late, in between the next pass's read and its write → is counted once", async () => {
    const patchStatus = world.store.patchStatus.bind(world.store);
    let late: ComputeEndpointStatus | undefined;
    world.store.patchStatus = (_resource, status) => {
      late = status;
      world.store.patchStatus = patchStatus;
      return Promise.reject(new KubernetesError("TimedOut", "no answer"));
    };
    await world.clock.advance(31_000);
    await world.operator.pass(key);
    world.store.beforeWrite = () => {
      world.store.beforeWrite = () => {};
      world.store.edit(key, () => ({ status: late ?? {} }));
    };
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    await scene.look();
    expect(timesCounted("op-a")).toBe(1);
  });
});

describe("a status without a watermark that can be read", () => {
  beforeEach(async () => {
    await scene.ready();
    scene.log("op-old", { status: "failed", failuresCount: 1 });
    scene.log("op-long", { action: "apply_config", status: "running" });
    await scene.look();
    scene.restart();
    world.store.edit(key, ({ status: { operationWatermark: _lost, ...status } }) => ({ status }));
  });

  it("history → is not counted again, and what has failed stays visible without another event", async () => {
    const told = world.operator.events.length;
    await scene.look();
    await scene.look();
    expect(timesCounted("op-old")).toBe(1);
    expect(world.status().failedActions).toMatchObject([{ operationId: "op-old" }]);
    expect(world.operator.events.slice(told)).toEqual([]);
  });

  it("what was in flight, and what comes → is counted", async () => {
    await scene.look();
    scene.change("op-long", { status: "finished" });
    scene.log("op-new");
    await scene.look();
    expect(["op-long", "op-new"].map(timesCounted)).toEqual([1, 1]);
  });
});

describe("a resource that nothing happens to, in a project that is busy", () => {
  const watermarkTime = () => world.status().operationWatermark?.createdTime ?? "";
  const statusWrites = () => world.store.writes.length;

  beforeEach(async () => {
    await scene.ready();
    await scene.look();
  });

  it("for most of a day → no write", async () => {
    const before = statusWrites();
    await world.clock.advance(23 * 3_600_000);
    scene.log("op-else", { endpointId: "ep-else" });
    await scene.look();
    expect(statusWrites()).toBe(before);
  });

  it("for months → one write a day, so that the next process need not read months back", async () => {
    const before = statusWrites();
    for (let day = 0; day < 60; day += 1) {
      for (let part = 0; part < 5; part += 1) {
        await world.clock.advance(5 * 3_600_000);
        scene.log(`op-else-${day}-${part}`, { endpointId: "ep-else" });
        await scene.look();
      }
    }
    expect(statusWrites() - before).toBeLessThanOrEqual(63);
    expect(world.clock.nowMs() - Date.parse(watermarkTime())).toBeLessThan(30 * 3_600_000);
  });
});
