/** Tests an operator that is stopped in the middle of a change. */
import { describe, expect, test } from "vitest";
import "../support/patience.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const endpointsPath = `/api/v2/projects/${project}/endpoints`;
const orders = { branchId: branches.orders, type: "ReadWrite" } as const;

/**
 * Holds the answer to the next such request, and restarts the operator during that time. The request itself takes
 * effect.
 */
async function restartWhileHeld(world: World, match: { method: string; path: string }, begin: () => Promise<void>) {
  const fault = await world.sandbox.fault({ ...match, times: 1 }, { kind: "hold" });
  await begin();
  await world.sandbox.untilHeld(fault);
  const stopping = world.stopOperator();
  await world.sandbox.control("POST", `/faults/${fault}/release`);
  await stopping;
  await world.startOperator();
}

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  test("stopped in the middle of a create → the answer is still recorded, exactly one endpoint", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await restartWhileHeld(world, { method: "POST", path: endpointsPath }, () => world.apply("orders", orders));
    const { status } = await world.untilReady("orders");
    expect(status.ownership?.origin).toBe("Created");
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });

  test("stopped in the middle of a replica's create → the same", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await restartWhileHeld(world, { method: "POST", path: endpointsPath }, () =>
      world.apply("replica", { branchId: branches.main, type: "ReadOnly" }),
    );
    await world.untilReady("replica");
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });

  test("stopped in the middle of an update → one restart of the compute, not two", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", { ...orders, compute: { minUnits: 0.25, maxUnits: 0.25 } });
    await world.untilReady("orders");
    await restartWhileHeld(world, { method: "PATCH", path: `${endpointsPath}/*` }, () =>
      world.apply("orders", { ...orders, compute: { minUnits: 2, maxUnits: 2 } }),
    );
    await world.untilReady("orders");
    const patches = (await world.sandbox.requests()).filter(({ method }) => method === "PATCH");
    expect(patches).toHaveLength(1);
  });

  test("stopped in the middle of a move → moved once", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", orders);
    const before = await world.untilReady("orders");
    await restartWhileHeld(world, { method: "PATCH", path: `${endpointsPath}/*` }, () =>
      world.apply("orders", { ...orders, branchId: branches.staging }),
    );
    await world.untilReady("orders");
    expect(await world.sandbox.endpoints(project)).toMatchObject([
      { id: before.status.ownership?.endpointId, branch_id: branches.staging },
    ]);
  });

  test("stopped in the middle of a deletion → gone, nothing left", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", orders);
    await world.untilReady("orders");
    await restartWhileHeld(world, { method: "DELETE", path: `${endpointsPath}/*` }, () => world.delete("orders"));
    await world.untilGone("orders");
    expect(await world.sandbox.endpoints(project)).toEqual([]);
  });

  test("stopped while an operation is in flight → its end is seen and counted after the restart", async () => {
    // While the clock stands still, no operation ends.
    const world = await startWorld({ sandbox: { profile, clock: "stepped" } });
    await world.apply("orders", orders);
    await world.until("orders", "its start is in flight", ({ status }) => status.operations?.[0]?.status !== undefined);
    await world.restartOperator();
    await world.sandbox.control("PUT", "/clock", { mode: "real" });
    await world.untilReady("orders");
    await world.untilMetrics(
      /compute_endpoint_operations_total\{[^}]*action="start_compute"[^}]*outcome="succeeded"[^}]*\} 1/,
    );
    await world.untilMetrics(/compute_endpoint_operation_duration_seconds_count\{[^}]*action="start_compute"[^}]*\} 1/);
  });

  test("adopted, stopped before anything was changed → adopted once", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const foreignId = await world.sandbox.createForeign(project, branches.orders);
    await restartWhileHeld(world, { method: "PATCH", path: `${endpointsPath}/*` }, () =>
      world.apply("orders", { ...orders, compute: { minUnits: 3, maxUnits: 3 }, adoption: { policy: "AdoptOnly" } }),
    );
    const { status } = await world.untilReady("orders");
    expect(status.ownership).toMatchObject({ endpointId: foreignId, origin: "Adopted" });
    expect(await world.sandbox.endpoints(project)).toMatchObject([{ id: foreignId, autoscaling_limit_min_cu: 3 }]);
  });

  test("restarted while it refuses to adopt → refuses still, touches nothing, and adopts when spec consents", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const foreignId = await world.sandbox.createForeign(project, branches.orders);
    await world.apply("orders", orders);
    await world.untilStalled("orders", "EndpointExists");
    await world.restartOperator();
    await world.reconcile("orders");
    await world.untilStalled("orders", "EndpointExists");
    expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([foreignId]);
    await world.apply("orders", { ...orders, adoption: { policy: "AdoptOrCreate", endpointId: foreignId } });
    await world.untilReady("orders");
  });

  test("restarted with two resources for one branch → the same one has it", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("first", orders);
    const before = await world.untilReady("first");
    await world.apply("second", orders);
    await world.untilStalled("second", "ClaimedByAnother");
    await world.restartOperator();
    await Promise.all([world.reconcile("first"), world.reconcile("second")]);
    await world.untilStalled("second", "ClaimedByAnother");
    const after = await world.untilReady("first");
    expect(after.status.ownership).toEqual(before.status.ownership);
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });

  test("restarted between the wish to delete and its release, Retain → released, the endpoint kept", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", { ...orders, deletionPolicy: "Retain" });
    const { status } = await world.untilReady("orders");
    await world.stopOperator();
    await world.delete("orders");
    await world.startOperator();
    await world.untilGone("orders");
    expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([status.ownership?.endpointId]);
  });

  test("an operation fails while the operator is down → seen, counted and reported after the restart", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", orders);
    const { status } = await world.untilReady("orders");
    await world.stopOperator();
    await world.sandbox.failNext("suspend_compute");
    await world.sandbox.api("POST", `/projects/${project}/endpoints/${status.ownership?.endpointId}/suspend`);
    await world.sandbox.untilUnlocked(project);
    await world.startOperator();
    const failed = await world.until(
      "orders",
      "the failure is shown",
      (seen) => seen.status.failedActions !== undefined,
    );
    await world.untilEventsWith("orders", "OperationFailed");
    await world.restartOperator();
    const again = await world.reconcile("orders");
    expect(again.status.failedActions).toEqual(failed.status.failedActions);
    expect(await world.metrics(), "counted once, by the process that saw it").not.toMatch(
      /compute_endpoint_operation_failures_total\{[^}]*action="suspend_compute"/,
    );
  });
});
