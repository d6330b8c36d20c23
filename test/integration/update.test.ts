/** Tests how changes of spec reach the endpoint, and how drift is corrected. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import type { StoredResource } from "../support/stored-resource.ts";
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

  test("another branch → the same endpoint moves there", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", orders);
    const before = await world.untilReady("orders");
    await world.apply("orders", { ...orders, branchId: branches.staging });
    const after = await world.untilReady("orders");

    expect(after.status.ownership?.endpointId).toBe(before.status.ownership?.endpointId);
    expect(await world.sandbox.endpoints(project)).toMatchObject([
      { id: before.status.ownership?.endpointId, branch_id: branches.staging },
    ]);
  });

  test("another branch that has an endpoint → Stalled with the remedy, nothing moved; moved once it is free", async () => {
    const world = await startWorld({ sandbox: { profile } });
    const occupant = await world.sandbox.createForeign(project, branches.staging);
    await world.apply("orders", orders);
    const before = await world.untilReady("orders");
    await world.apply("orders", { ...orders, branchId: branches.staging });
    const stalled = await world.untilStalled("orders", "BranchOccupied");
    expect(conditionOf(stalled.status.conditions, "Stalled")?.message).toContain(occupant);

    await world.sandbox.untilUnlocked(project);
    await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${occupant}`);
    const after = await world.untilReady("orders");
    expect(after.status.ownership?.endpointId).toBe(before.status.ownership?.endpointId);
  });
});

test("two resources that swap branches → reported, nothing lost", async () => {
  const world = await startWorld();
  await world.apply("left", orders);
  await world.apply("right", { ...orders, branchId: branches.staging });
  const ids = [await world.untilReady("left"), await world.untilReady("right")].map((each) => each.status.ownership);
  await world.apply("left", { ...orders, branchId: branches.staging });
  await world.untilStalled("left", "ClaimedByAnother");
  await world.apply("right", orders);
  await world.untilStalled("right", "ClaimedByAnother");
  expect((await world.sandbox.endpoints(project)).map(({ id }) => id).sort()).toEqual(
    ids.map((ownership) => ownership?.endpointId).sort(),
  );
});

test("another client changes the size → it is put back", async () => {
  const world = await startWorld();
  await world.apply("orders", { ...orders, ...small });
  const { status } = await world.untilReady("orders");
  await world.sandbox.api("PATCH", `/projects/${project}/endpoints/${status.ownership?.endpointId}`, {
    endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 },
  });
  await world.until("orders", "its own size again", ({ status: seen }) => {
    const isPutBack = (seen.operations ?? []).filter(({ action }) => action === "apply_config").length === 2;
    return isPutBack && conditionOf(seen.conditions, "Ready")?.status === "True";
  });
  expect(await world.sandbox.endpoints(project)).toMatchObject([{ autoscaling_limit_max_cu: 0.25 }]);
});

test("the endpoint is deleted by another hand → a new one, and an event", async () => {
  const world = await startWorld();
  await world.apply("orders", orders);
  const before = await world.untilReady("orders");
  await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${before.status.ownership?.endpointId}`);
  const after = await world.until("orders", "another endpoint", ({ status }) => {
    const id = status.ownership?.endpointId;
    return id !== undefined && id !== before.status.ownership?.endpointId;
  });
  await world.untilReady("orders");
  expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([after.status.ownership?.endpointId]);
  await world.untilEventsWith("orders", "EndpointGone");
});

test("an adopted endpoint is deleted by another hand → Stalled, not replaced", async () => {
  const world = await startWorld();
  const foreignId = await world.sandbox.createForeign(project, branches.orders);
  await world.apply("orders", { ...orders, adoption: { policy: "AdoptOrCreate", endpointId: foreignId } });
  await world.untilReady("orders");
  await world.sandbox.untilUnlocked(project);
  await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${foreignId}`);
  await world.untilStalled("orders", "EndpointGone");
  await world.reconcile("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});

test("an idle endpoint stays Ready", async () => {
  // In profile public the shortest delay is a minute.
  const world = await startWorld({ sandbox: { profile: "seed" } });
  await world.apply("orders", { ...orders, suspend: { mode: "After", afterSeconds: 1 } });
  await world.untilReady("orders");
  // The operator reads operations before endpoints, so the state can be idle one read before its operation is there.
  const suspendOf = ({ status }: StoredResource) =>
    (status.operations ?? []).find(({ action }) => action === "suspend_compute");
  const idle = await world.until("orders", "idle, and why", (seen) => {
    return seen.status.state === "idle" && suspendOf(seen)?.status === "finished";
  });
  expect(conditionOf(idle.status.conditions, "Ready")).toMatchObject({ status: "True", reason: "UpToDate" });
  expect(suspendOf(idle)).toMatchObject({ cause: "ControlPlane" });
});

test("paused → nothing but status is written; deletion waits too; unpaused it goes on", async () => {
  const world = await startWorld();
  await world.apply("orders", orders);
  await world.untilReady("orders");
  await world.annotate("orders", "paused", "true");
  await world.apply("orders", { ...orders, ...large }, { annotations: { "endpoint-operator.dev/paused": "true" } });
  const paused = await world.until("orders", "says that it is paused", ({ metadata, status }) => {
    return (
      conditionOf(status.conditions, "Ready")?.reason === "Paused" && status.observedGeneration === metadata.generation
    );
  });
  expect(conditionOf(paused.status.conditions, "Ready")?.status).toBe("Unknown");
  await world.delete("orders");
  await world.reconcile("orders");
  expect(await world.sandbox.endpoints(project)).toMatchObject([{ autoscaling_limit_max_cu: 0.25 }]);
  await world.kubectl.run(["-n", world.namespace, "annotate", "cpe", "orders", "endpoint-operator.dev/paused-"]);
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
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
