/** Tests `management: Observe` on a real API server: look, edit spec until nothing differs, manage. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { finalizer } from "../../src/resource/names.ts";
import { branches, startWorld, type World } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const size = (units: number) => ({ compute: { minUnits: units, maxUnits: units } });

const finalizersOf = async (world: World) => (await world.get("orders"))?.metadata.finalizers ?? [];

async function writesToEndpoints(world: World): Promise<readonly string[]> {
  const requests = await world.sandbox.requests();
  return requests.filter(({ method, path }) => method !== "GET" && path.includes("/endpoints")).map(({ path }) => path);
}

test("an endpoint of another client: observed, edited until nothing differs, managed → no request changes it", async () => {
  const world = await startWorld();
  await world.apply("maker", { ...orders, ...size(0.5), deletionPolicy: "Retain" });
  await world.untilReady("maker");
  await world.delete("maker");
  await world.untilGone("maker");
  const before = await writesToEndpoints(world);
  const adoption = { policy: "AdoptOnly" };
  const asked = { annotations: { "endpoint-operator.dev/suspend-requested-at": "1" } };
  const observing = { ...orders, management: "Observe", adoption, deletionPolicy: "Delete" };
  await world.apply("orders", { ...observing, ...size(2) }, asked);
  const { status } = await world.untilReady("orders");
  const ready = conditionOf(status.conditions, "Ready");
  expect([ready?.reason, status.ownership]).toEqual(["Observed", undefined]);
  expect(ready?.message).toContain("spec.deletionPolicy, endpoint-operator.dev/suspend-requested-at is ignored");
  expect([status.state, status.drift?.map(({ field }) => field)]).toEqual(["active", ["spec.compute"]]);
  expect(await finalizersOf(world)).toEqual([]);
  await world.apply("orders", { ...observing, ...size(0.5) });
  await world.until("orders", "nothing differs", ({ status: { drift, conditions } }) => {
    return drift === undefined && conditionOf(conditions, "InSync")?.status === "True";
  });
  await world.kubectl.run([
    "-n",
    world.namespace,
    "annotate",
    "cpe",
    "orders",
    "endpoint-operator.dev/suspend-requested-at-",
  ]);
  await world.apply("orders", { ...orders, ...size(0.5), adoption });
  const managed = await world.untilReady("orders");
  expect(managed.status.ownership?.origin).toBe("Adopted");
  expect(await finalizersOf(world)).toEqual([finalizer]);
  expect(await writesToEndpoints(world)).toEqual(before);
});
