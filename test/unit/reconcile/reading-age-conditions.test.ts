import { beforeEach, describe, expect, it } from "vitest";
import { annotations } from "../../../src/resource/names.ts";
import { reading, somebodyReads } from "./reading-age-scene.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

const failing = { kind: "Refuse", reason: "ServerError" } as const;
const lookNow = () => ({ annotations: { [annotations.reconcileRequestedAt]: "now" } });

describe("a create that others have just read the project for", () => {
  it("nothing sent, nothing failed, nothing asked for → that reading will do", async () => {
    world.store.put(asked());
    await world.operator.pass(key);
    await somebodyReads(world);
    await world.operator.pass(key);
    expect([world.service.calls, world.status().createIntent]).toMatchObject([[], { preIds: [] }]);
  });

  it("an intent of an earlier process → read again before the post", async () => {
    world.store.put(asked());
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.restart();
    await somebodyReads(world);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual([...reading, "createEndpoint"]);
  });

  it("a post in doubt, of which nobody has heard for the settle time → read again, so that no second replica is made", async () => {
    world.store.put(asked({ spec: { type: "ReadOnly" } }));
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.service.failNext("createEndpoint", { kind: "ApplyLater" });
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    expect(world.operator.ledger.memoryOf("uid-orders")).toMatchObject({ failure: undefined });
    await world.clock.advance(150_000);
    await somebodyReads(world);
    world.service.landLate();
    await world.operator.pass(key);
    expect([world.reason("Stalled"), world.made()]).toEqual(["CreateAmbiguous", ["ep-made-1"]]);
  });

  it("a call failed before → read again", async () => {
    world.store.put(asked());
    await world.operator.pass(key);
    world.service.failNext("listEndpoints", failing);
    await world.operator.pass(key);
    await somebodyReads(world);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual(reading);
  });

  it("a look asked for → read again", async () => {
    world.store.put(asked());
    await world.operator.pass(key);
    await somebodyReads(world);
    world.store.edit(key, lookNow);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual(reading);
  });
});

describe("a settled resource whose project others have just read", () => {
  beforeEach(async () => {
    world.store.put(asked());
    await world.operator.run(key);
  });

  it("nothing failed, nothing asked for → that reading will do", async () => {
    await somebodyReads(world);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual([]);
  });

  it("a call failed before → read again, though it is Ready all the while", async () => {
    await world.clock.advance(60_000);
    world.service.failNext("listEndpoints", failing);
    await world.operator.pass(key);
    await somebodyReads(world);
    expect(world.reason("Ready")).toBe("UpToDate");
    await world.operator.pass(key);
    expect(world.service.calls).toEqual(reading);
  });

  it("a look asked for → read again", async () => {
    await somebodyReads(world);
    world.store.edit(key, lookNow);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual(reading);
  });
});

it("not Ready yet, and others read the project before its operation ended → read again, and Ready", async () => {
  world.service.isInstant = false;
  world.store.put(asked());
  for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
  await somebodyReads(world);
  world.service.endOperations();
  await world.operator.pass(key);
  expect(world.reason("Ready")).toBe("UpToDate");
});
