import { beforeEach, describe, expect, it } from "vitest";
import { KubernetesError } from "../../../src/domain/resource-store.ts";
import type { ComputeEndpointStatus } from "../../../src/resource/status-schema.ts";
import { LedgerScene } from "./ledger-scene.ts";
import { asked, key, type ReconcilerWorld } from "./reconciler-world.ts";

let scene: LedgerScene;
let world: ReconcilerWorld;

beforeEach(async () => {
  scene = new LedgerScene();
  world = scene.world;
});

const noAnswer = () => new KubernetesError("TimedOut", "no answer");
const timesTold = (reason: string) => world.operator.events.filter((event) => event.reason === reason).length;

/** The answer to the next write is lost, before or after it takes effect. */
function loseAnswerOnce(at: "beforeWrite" | "afterWrite"): void {
  world.store[at] = () => {
    world.store[at] = () => {};
    throw noAnswer();
  };
}

async function passLater(): Promise<void> {
  await world.clock.advance(31_000);
  await world.operator.pass(key);
}

describe.each(["beforeWrite", "afterWrite"] as const)("the answer to a status write is lost %s", (at) => {
  it("it shows a failed operation → its event is published once, when the write is seen to be stored", async () => {
    await scene.ready();
    scene.log("op-a", { status: "failed", failuresCount: 1 });
    loseAnswerOnce(at);
    await passLater();
    expect(timesTold("OperationFailed")).toBe(0);
    await scene.look();
    await scene.look();
    expect(timesTold("OperationFailed")).toBe(1);
    expect(scene.counted().filter((id) => id === "op-a")).toHaveLength(1);
  });

  it("it waits for some operations no more → that is said once, when the write is seen to be stored", async () => {
    await scene.ready();
    for (let n = 0; n < 52; n += 1) scene.log(`op-long-${n}`, { status: "running" });
    scene.log("op-a");
    loseAnswerOnce(at);
    await passLater();
    expect(world.operator.cuts).toEqual([]);
    await scene.look();
    await scene.look();
    expect(world.operator.cuts).toHaveLength(1);
    expect(world.operator.warnings).toMatchObject([{ name: "orders", dropped: 2, operationIds: expect.any(Array) }]);
  });

  it("it moves no watermark → the event of what it tells is published once all the same", async () => {
    await scene.ready();
    await scene.look();
    const { spec } = asked({ spec: { branchId: "br-nobody-9", type: "Sideways" } });
    world.store.edit(key, ({ generation }) => ({ generation: generation + 1, spec }));
    loseAnswerOnce(at);
    await world.operator.pass(key);
    expect(timesTold("InvalidSpec")).toBe(0);
    await scene.look();
    await scene.look();
    expect(world.reason("Stalled")).toBe("InvalidSpec");
    expect(timesTold("InvalidSpec")).toBe(1);
  });
});

describe("the answer to the status write that shows a failure is lost", () => {
  beforeEach(async () => {
    await scene.ready();
    scene.log("op-a", { status: "failed", failuresCount: 1 });
  });

  it("it never takes effect, and a success came meanwhile → no event of what no status has shown", async () => {
    loseAnswerOnce("beforeWrite");
    await passLater();
    scene.log("op-b");
    await scene.look();
    await scene.look();
    expect(world.status().failedActions).toBeUndefined();
    expect(timesTold("OperationFailed")).toBe(0);
  });

  it("it takes effect late, in between the next pass's read and its write → one event", async () => {
    const patchStatus = world.store.patchStatus.bind(world.store);
    let late: ComputeEndpointStatus = {};
    world.store.patchStatus = (_resource, status) => {
      late = status;
      world.store.patchStatus = patchStatus;
      return Promise.reject(noAnswer());
    };
    await passLater();
    world.store.beforeWrite = () => {
      world.store.beforeWrite = () => {};
      world.store.edit(key, () => ({ status: late }));
    };
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    await scene.look();
    expect(timesTold("OperationFailed")).toBe(1);
  });
});
