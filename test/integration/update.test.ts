/** Tests how changes of spec reach the endpoint, and how drift is corrected. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;
const small = { compute: { minUnits: 0.25, maxUnits: 0.25 } };
const large = { compute: { minUnits: 1, maxUnits: 2 } };

describe.each(["seed", "public"] as const)("profile %s", (profile) => {
  test("size change → the compute restarts, reported beforehand, and the resource is Ready again", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", { ...orders, ...small });
    await world.untilReady("orders");
    await world.apply("orders", { ...orders, ...large });
    const { status } = await world.untilReady("orders");

    expect(status.compute).toMatchObject({ minUnits: 1, maxUnits: 2, maxConnections: 450 });
    const actions = (status.operations ?? []).map(({ action, cause }) => `${action} ${cause}`);
    expect(actions).toContain("suspend_compute SpecChange");
    expect(actions.filter((each) => each === "start_compute SpecChange")).toHaveLength(2);
    // The second EndpointReady has the same text as the first, so it only raises the count of the first.
    await world.untilEvents("orders", ["EndpointCreated", "EndpointReady", "EndpointRestarting"]);
    expect((await world.sandbox.endpoints(project))[0]).toMatchObject({ autoscaling_limit_max_cu: 2 });
  });

  test("settings and pooler → the control plane has them; a field taken out of spec is left alone, and this is reported", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const managed = {
      settings: { pgSettings: { work_mem: "64MB" } },
      pooler: { enabled: true, mode: "Transaction" },
      suspend: { mode: "After", afterSeconds: 120 },
    };
    await world.apply("orders", { ...orders, ...managed });
    const ready = await world.untilReady("orders");
    const message = conditionOf(ready.status.conditions, "Ready")?.message ?? "";
    expect(message.includes("spec.suspend")).toBe(profile === "seed");
    expect(await world.sandbox.endpoints(project)).toMatchObject([
      { settings: { pg_settings: { work_mem: "64MB" } }, pooler_enabled: true },
    ]);
    const writes = (await world.sandbox.requests()).filter(({ method }) => method === "PATCH");
    expect(writes, "all of it goes out with the create").toEqual([]);

    await world.apply("orders", { ...orders, pooler: managed.pooler });
    await world.until("orders", "the new generation is Ready", ({ metadata, status }) => {
      const condition = conditionOf(status.conditions, "Ready");
      return metadata.generation === 2 && condition?.status === "True" && condition.observedGeneration === 2;
    });
    await world.untilEventsWith("orders", "FieldReleased");
    expect(await world.sandbox.endpoints(project)).toMatchObject([{ settings: { pg_settings: { work_mem: "64MB" } } }]);
  });
});

test("a move that the control plane refuses, because the branch has a replica → the remedy at once, and Ready when it is gone", async () => {
  const world = await startWorld();
  const replicaId = await world.sandbox.createForeign(project, branches.staging, "read_only");
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.apply("orders", { branchId: branches.staging, type: "ReadWrite" });
  await world.until("orders", "names the remedy", ({ status }) => {
    const ready = conditionOf(status.conditions, "Ready");
    return ready?.reason === "Retrying" && ready.message.includes("Delete the other endpoint of that branch");
  });
  await world.sandbox.untilUnlocked(project);
  await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${replicaId}`);
  await world.untilReady("orders");
});
