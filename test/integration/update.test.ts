/** Tests how a change of spec reaches the endpoint. */
import { expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const size = (units: number) => ({ compute: { minUnits: units, maxUnits: units } });

test("another size, then none → the restart is reported beforehand; the endpoint keeps its size, and this is reported", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, ...size(0.25) });
  await world.untilReady("orders");
  await world.apply("orders", { ...orders, ...size(1) });
  const { status } = await world.untilReady("orders");
  expect(status.compute).toMatchObject({ minUnits: 1, maxUnits: 1 });
  // The second EndpointReady has the same text as the first, so it only raises the count of the first.
  await world.untilEvents("orders", ["EndpointCreated", "EndpointReady", "EndpointRestarting"]);
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await world.untilEventsWith("orders", "FieldReleased");
  expect(await world.sandbox.endpoints(project)).toMatchObject([{ autoscaling_limit_max_cu: 1 }]);
});
