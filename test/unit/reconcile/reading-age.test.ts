import { beforeEach, describe, expect, it, vi } from "vitest";
import { foreignEndpoint, projectId, reading } from "./reading-age-scene.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

const second = { namespace: "shop", name: "second" };
const third = { namespace: "shop", name: "third" };
const onAnotherBranch = (name: string) => asked({ name, spec: { branchId: `br-${name}-1` } });

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

/** Calls since the last question. */
function callsSince(): readonly string[] {
  return world.service.calls.splice(0);
}

/** As long as its operation runs the project is locked. */
async function comeUp(name = key): Promise<void> {
  await world.operator.run(name);
  callsSince();
}

describe("a first create", () => {
  it("nobody in between → one reading of the project, for the intent and for the create", async () => {
    world.store.put(asked());
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    expect(world.store.writes).toEqual(["addFinalizer", "patchStatus", "patchStatus"]);
    expect(callsSince()).toEqual([...reading, "createEndpoint"]);
  });

  it("one after the other in one project → the reading that shows the end of one is enough for the next", async () => {
    world.service.isInstant = false;
    for (const name of ["orders", "second"]) world.store.put(onAnotherBranch(name));
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(second);
    callsSince();
    world.service.endOperations();
    await world.operator.pass(key);
    expect([world.reason("Ready"), world.operator.woken.at(-1)]).toEqual(["UpToDate", second]);
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(second);
    expect(callsSince()).toEqual([...reading, "createEndpoint"]);
  });

  it.each([
    ["the intent", 1],
    ["the create", 2],
  ])("a reading older than five seconds → not %s by it", async (_step, passes) => {
    world.store.put(asked());
    world.store.put(onAnotherBranch("second"));
    await world.operator.pass(second);
    await world.operator.connected.view.read(projectId, world.clock.monotonicMs());
    for (let done = 0; done < passes; done += 1) await world.operator.pass(key);
    callsSince();
    await world.clock.advance(5_000);
    await world.operator.pass(key);
    expect(callsSince().slice(0, 2)).toEqual(reading);
  });

  it("a write of ours to the project since → read again", async () => {
    await comeUpBoth();
    world.store.put(onAnotherBranch("third"));
    await world.operator.pass(third);
    world.operator.connected.view.noteWrite(projectId, undefined);
    await world.clock.advance(1);
    callsSince();
    await world.operator.pass(third);
    expect(callsSince()).toEqual(reading);
  });

  it("another endpoint is there by the old reading and gone by now → created all the same", async () => {
    world.service.add(foreignEndpoint(world));
    world.store.put(onAnotherBranch("second"));
    await comeUp(second);
    expect(world.made()).toContain("ep-foreign-1");
    world.service.endpoints.delete("ep-foreign-1");
    world.store.put(asked());
    await world.operator.run(key);
    expect(world.reason("Ready")).toBe("UpToDate");
  });

  it("another hand was faster than the old reading knows → the service refuses, and nothing is made twice", async () => {
    world.store.put(asked());
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.service.add(foreignEndpoint(world));
    await world.operator.run(key);
    expect([world.reason("Stalled"), world.posts()]).toEqual(["EndpointExists", 1]);
  });

  it("the second reading fails → that is no refused effect, and holds nothing back", async () => {
    await comeUpBoth();
    world.store.put(asked({ name: "third", spec: { branchId: "br-second-1" } }));
    await world.operator.pass(third);
    world.service.failNext("listEndpoints", { kind: "Refuse", reason: "ServerError" });
    await world.operator.pass(third);
    expect(world.operator.ledger.memoryOf("uid-third").failure).toMatchObject({ holdsBack: false });
  });
});

describe("whoever waits in the lane", () => {
  beforeEach(async () => {
    world.service.isInstant = false;
    for (const name of ["orders", "second", "third"]) world.store.put(onAnotherBranch(name));
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    for (const name of [second, third]) {
      for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(name);
    }
    callsSince();
  });

  it("comes next → reads again when the reading is old", async () => {
    await world.operator.pass(second);
    expect(callsSince()).toEqual([]);
    await world.clock.advance(5_000);
    await world.operator.pass(second);
    expect(callsSince()).toEqual(reading);
  });

  it("comes later → need not know more", async () => {
    await world.clock.advance(20_000);
    await world.operator.pass(third);
    expect(callsSince()).toEqual([]);
    await world.clock.advance(10_000);
    await world.operator.pass(third);
    expect(callsSince()).toEqual(reading);
  });

  it("comes first, and the service works for somebody else → looks each time", async () => {
    world.service.endOperations();
    await world.operator.pass(key);
    world.service.endOperations();
    await world.operator.connected.controlPlane.updateEndpoint(projectId, world.made()[0] ?? "", {});
    await world.clock.advance(1);
    await world.operator.connected.view.read(projectId, world.clock.monotonicMs());
    callsSince();
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(second);
    expect(callsSince()).toEqual([...reading, ...reading]);
  });
});

describe("the resource, before its create", () => {
  const reads = () => vi.spyOn(world.store, "read");

  it("as it was answered with the intent a moment ago → is not read again", async () => {
    world.store.put(asked());
    const read = reads();
    for (let passes = 0; passes < 3; passes += 1) await world.operator.pass(key);
    expect([read.mock.calls.length, world.posts()]).toEqual([0, 1]);
  });

  it("stored more than a second ago → is read again", async () => {
    world.store.put(asked());
    const read = reads();
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    await world.clock.advance(1_000);
    await world.operator.pass(key);
    expect([read.mock.calls.length, world.posts()]).toEqual([1, 1]);
  });

  it("changed since → is read again", async () => {
    world.store.put(asked());
    const read = reads();
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.store.edit(key, () => ({ annotations: { note: "by hand" } }));
    await world.operator.pass(key);
    expect([read.mock.calls.length, world.posts()]).toEqual([1, 1]);
  });

  it("with the intent of an earlier process → is read again, and so is the project", async () => {
    world.store.put(asked());
    for (let passes = 0; passes < 2; passes += 1) await world.operator.pass(key);
    world.restart();
    await world.operator.connected.view.read(projectId, world.clock.monotonicMs());
    const read = reads();
    callsSince();
    await world.operator.pass(key);
    expect([read.mock.calls.length, callsSince()]).toEqual([1, [...reading, "createEndpoint"]]);
  });
});

async function comeUpBoth(): Promise<void> {
  for (const name of [key, second]) {
    world.store.put(onAnotherBranch(name.name));
    await comeUp(name);
  }
}
