/** Tests how endpoints are deleted or retained. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
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

  test("an adopted endpoint → retained by default, deleted when asked", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const adoption = { policy: "AdoptOnly" };
    const foreignId = await world.sandbox.createForeign(project, branches.orders);
    await world.apply("lent", { ...orders, adoption });
    await world.untilReady("lent");
    await world.delete("lent");
    await world.untilGone("lent");
    expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([foreignId]);

    await world.apply("given", { ...orders, adoption, deletionPolicy: "Delete" });
    await world.untilReady("given");
    await world.delete("given");
    await world.untilGone("given");
    expect(await world.sandbox.endpoints(project)).toEqual([]);
  });
});

test("deleted while its start is in flight → waits for the lock and is deleted", async () => {
  const world = await startWorld({ sandbox: { operationLatencyMs: 1_500 } });
  await world.apply("orders", orders);
  await world.until("orders", "created", ({ status }) => status.ownership !== undefined);
  await world.delete("orders");
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});

test("deleted by another hand before → the resource goes too", async () => {
  const world = await startWorld();
  await world.apply("orders", orders);
  const { status } = await world.untilReady("orders");
  await world.stopOperator();
  await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${status.ownership?.endpointId}`);
  await world.delete("orders");
  await world.startOperator();
  await world.untilGone("orders");
});

test("a DELETE whose answer is lost → looked at again, gone once", async () => {
  const world = await startWorld();
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await world.sandbox.fault(
    { method: "DELETE", path: "/api/v2/projects/*/endpoints/*", times: 1 },
    { kind: "dropAfter" },
  );
  await world.delete("orders");
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});

test("a lost project is no proof: deletion waits and names the remedy, and Retain works without the control plane", async () => {
  const world = await startWorld();
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await world.sandbox.fault(
    { method: "*", path: "/api/v2/projects/**" },
    { kind: "status", status: 404, message: "project not found" },
  );
  await world.delete("orders");
  const waiting = await world.until("orders", "names the remedy", ({ status, metadata }) => {
    const message = conditionOf(status.conditions, "Ready")?.message ?? "";
    return metadata.deletionTimestamp !== undefined && message.includes("spec.deletionPolicy");
  });
  expect(waiting.metadata.finalizers).toEqual(["endpoint-operator.dev/endpoint"]);
  await world.kubectl.run([
    ...["-n", world.namespace, "patch", "cpe", "orders", "--type=merge", "-p", '{"spec":{"deletionPolicy":"Retain"}}'],
  ]);
  await world.untilGone("orders");
  await world.sandbox.clearFaults();
  expect(await world.sandbox.endpoints(project)).toHaveLength(1);
});
