import { expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

test("a new read-write resource → one endpoint, Ready, its start seen", async () => {
  const world = await startWorld();
  await world.apply("orders", {
    branchId: branches.orders,
    type: "ReadWrite",
    compute: { minUnits: 0.25, maxUnits: 2 },
  });
  const { status } = await world.untilReady("orders");
  const endpoints = await world.sandbox.endpoints(project);
  expect(endpoints.map(({ id }) => id)).toEqual([status.ownership?.endpointId]);
  expect(status.operations?.[0]).toMatchObject({ action: "start_compute", status: "finished", cause: "SpecChange" });
});
