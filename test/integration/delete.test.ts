/** Tests how endpoints are deleted or retained. */
import { describe, expect, test } from "vitest";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  test("deleted → the endpoint is gone, then the resource", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", orders);
    await world.untilReady("orders");
    await world.delete("orders");
    await world.untilGone("orders");
    expect(await world.sandbox.endpoints(project)).toEqual([]);
    await world.untilEventsWith("orders", "EndpointDeleted");
  });

  test("deleted with Retain → the endpoint stays as it is", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", { ...orders, deletionPolicy: "Retain" });
    const { status } = await world.untilReady("orders");
    await world.delete("orders");
    await world.untilGone("orders");
    expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([status.ownership?.endpointId]);
  });
});
