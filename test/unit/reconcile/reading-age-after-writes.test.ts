import { beforeEach, expect, it } from "vitest";
import type { Fault } from "../../support/fakes/fake-service.ts";
import { projectId, reading, somebodyReads } from "./reading-age-scene.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

/* A write of ours makes every reading before it too old for whoever wants to create next in the project. */

const next = { namespace: "shop", name: "next" };
let world: ReconcilerWorld;

/** `next` has its finalizer, and will store its intent with the next pass. */
beforeEach(async () => {
  world = new ReconcilerWorld();
  world.store.put(asked({ name: "next", spec: { branchId: "br-next-1" } }));
  await world.operator.pass(next);
  world.store.put(asked());
});

/** A write takes a moment, so that the reading it was decided by is older than its end. */
function writesTakeTime(): void {
  world.service.beforeCall = (method) => (method.startsWith("list") ? undefined : world.clock.advance(1));
}

async function callsOfNext(): Promise<readonly string[]> {
  world.service.calls.splice(0);
  await world.operator.pass(next);
  return world.service.calls;
}

it.each<[string, Fault]>([
  ["answered by nobody, and applied", { kind: "LoseAnswer" }],
  ["answered by nobody, and not applied", { kind: "LoseRequest" }],
  ["refused", { kind: "Refuse", reason: "Rejected" }],
])("a create that was %s → the next one reads the project again", async (_what, fault) => {
  for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
  world.service.failNext("createEndpoint", fault);
  await world.operator.pass(key);
  expect(await callsOfNext()).toEqual(reading);
});

it("a deletion that was answered → the next create reads the project again", async () => {
  await world.operator.run(key);
  await world.clock.advance(60_000);
  writesTakeTime();
  world.store.delete(key);
  await world.operator.pass(key);
  expect([world.made(), await callsOfNext()]).toEqual([[], reading]);
});

it("a create that was answered → its operations are known before any list shows them", async () => {
  for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
  world.service.operations.splice(0);
  const { operations } = await world.operator.connected.view.read(projectId, world.clock.monotonicMs());
  expect(operations).toMatchObject([{ endpointId: "ep-made-1", action: "start_compute" }]);
});

it.each<[string, Fault | undefined]>([
  ["was answered", undefined],
  ["was answered by nobody", { kind: "LoseAnswer" }],
])(
  "the endpoint of a resource that is gone, its deletion %s → the next create reads the project again",
  async (_what, fault) => {
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.service.beforeCall = (method) => (method === "createEndpoint" ? world.store.vanish(key) : undefined);
    await world.operator.pass(key);
    expect(world.made()).toHaveLength(1);
    await somebodyReads(world);
    writesTakeTime();
    if (fault !== undefined) world.service.failNext("deleteEndpoint", fault);
    await world.operator.pass(key);
    expect([world.made(), await callsOfNext()]).toEqual([[], reading]);
  },
);
