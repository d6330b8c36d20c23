/** Tests that an ordinary mistake in spec is undone by an edit or `kubectl delete`, within seconds. */
import { expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
/** How long `kubectl delete` or an edit may take until its effect is there, in milliseconds. */
const undoneWithinMs = 10_000;

test("created with a branch that never existed, and deleted when that is noticed → gone within ten seconds", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, branchId: "br-no-such-1" });
  await untilNotReady(world);
  const begunMs = performance.now();
  await world.delete("orders");
  await world.untilGone("orders");
  expect(performance.now() - begunMs).toBeLessThan(undoneWithinMs);
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});

test("created with a branch that never existed, and the branch is corrected → Ready within ten seconds", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, branchId: "br-no-such-1" });
  await untilNotReady(world);
  const begunMs = performance.now();
  await world.apply("orders", orders);
  await world.untilReady("orders");
  expect(performance.now() - begunMs).toBeLessThan(undoneWithinMs);
});

async function untilNotReady(world: World): Promise<void> {
  await world.until("orders", "not Ready, with a reason", ({ status }) => {
    return conditionOf(status.conditions, "Ready")?.status === "False";
  });
}
