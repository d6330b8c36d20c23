import { beforeEach, describe, expect, it } from "vitest";
import { createUnder } from "../../../src/plan/create-intent.ts";
import type { Plan } from "../../../src/plan/plan.ts";
import { ownershipOf } from "../../../src/plan/record-ownership.ts";
import { mayDecide } from "../../../src/reconcile/reading-age.ts";
import { endpoint, intent, observation, spec } from "../plan/builders.ts";
import { foreignEndpoint, reading, somebodyReads } from "./reading-age-scene.ts";
import { asked, key, ReconcilerWorld } from "./reconciler-world.ts";

let world: ReconcilerWorld;

beforeEach(() => {
  world = new ReconcilerWorld();
});

describe("a plan from a reading that began before the pass, of a resource that is not settled", () => {
  const seen = observation({ endpoints: [endpoint()] });
  const endpointId = endpoint().id;
  const ownership = ownershipOf(seen, endpoint(), "Adopted");
  const plans: readonly Plan[] = [
    { kind: "RecordOwnership", ownership, endpoint: endpoint(), acknowledgedHash: undefined },
    { kind: "ForgetEndpoint", endpointId },
    { kind: "CloseIntent", intent: intent(), cause: "NothingLanded" },
    { kind: "UpdateEndpoint", endpointId, changes: {}, hash: "h", restarts: false },
    { kind: "MoveEndpoint", endpointId, branchId: "br-other-2" },
    { kind: "DeleteEndpoint", endpointId, cause: "Deletion" },
    { kind: "DeleteEndpoint", endpointId, cause: "Duplicate" },
    { kind: "RemoveFinalizer", cause: "Gone", abandoned: undefined },
    { kind: "Wait", reason: "CreateUnresolved", message: "", requeueAfterMs: undefined },
    { kind: "Settled", unverifiable: [] },
    { kind: "Stall", reason: "EndpointExists", message: "" },
  ];
  const stands = (plan: Plan) => {
    const sinceMs = world.clock.monotonicMs();
    const context = { clock: world.clock, service: world.operator.connected, projectPollMs: 30_000 };
    return mayDecide(context, { ...seen, project: { ...seen.project, asOfMs: sinceMs - 1 } }, plan, sinceMs);
  };

  it.each(plans.map((plan) => [plan.kind, plan] as const))("%s → is made again", (_kind, plan) => {
    expect(stands(plan)).toBe(false);
  });

  it.each([
    ["RecordIntent", { kind: "RecordIntent", intent: intent() }],
    ["CreateEndpoint", createUnder(seen, intent(), spec())],
  ] as const)("%s → stands", (_kind, plan) => {
    expect(stands(plan)).toBe(true);
  });
});

describe("the reading that others have made", () => {
  it("shows an endpoint to adopt that is gone by now → it is not adopted", async () => {
    world.service.add(foreignEndpoint(world));
    world.store.put(asked({ spec: { adoption: { policy: "AdoptOrCreate" } } }));
    await world.operator.pass(key);
    await somebodyReads(world);
    world.service.endpoints.delete("ep-foreign-1");
    await world.operator.pass(key);
    expect([world.status().ownership, world.status().createIntent]).toMatchObject([undefined, { preIds: [] }]);
  });

  it("shows nothing to adopt, and there is something by now → it is adopted", async () => {
    world.store.put(asked({ spec: { adoption: { policy: "AdoptOnly" } } }));
    await world.operator.pass(key);
    await somebodyReads(world);
    world.service.add(foreignEndpoint(world));
    await world.operator.pass(key);
    expect(world.status().ownership).toMatchObject({ endpointId: "ep-foreign-1", origin: "Adopted" });
  });

  it("is new, and another create of the branch comes first → whoever waits for it need not know more", async () => {
    const second = { namespace: "shop", name: "second" };
    for (const { name } of [key, second]) world.store.put(asked({ name, spec: { type: "ReadOnly" } }));
    for (const name of [key, second, key]) await world.operator.pass(name);
    await somebodyReads(world);
    await world.operator.pass(second);
    expect([world.service.calls, world.status(second).createIntent]).toEqual([[], undefined]);
  });

  it("is new, and spec was edited since → read again, then updated", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    await somebodyReads(world);
    const { spec } = asked({ spec: { suspend: { mode: "After", afterSeconds: 600 } } });
    world.store.edit(key, ({ generation }) => ({ generation: generation + 1, spec }));
    await world.operator.pass(key);
    expect(world.service.calls).toEqual([...reading, "updateEndpoint"]);
  });

  it("is new, and the resource is being deleted → read again, then deleted", async () => {
    world.store.put(asked());
    await world.operator.run(key);
    await somebodyReads(world);
    world.store.delete(key);
    await world.operator.pass(key);
    expect(world.service.calls).toEqual([...reading, "deleteEndpoint"]);
  });
});
