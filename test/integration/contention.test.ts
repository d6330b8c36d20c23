/** Tests many resources of one project, and lists that are late. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import "../support/patience.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

/** The project is not polled within a test. So the test notices a resource that is not reconciled when its turn comes. */
const environment = { OPERATION_POLL_SECONDS: "5", PROJECT_POLL_SECONDS: "600" };
const endpointsPath = `/api/v2/projects/${project}/endpoints`;

async function applyAll(world: World, resources: Readonly<Record<string, object>>): Promise<void> {
  const items = Object.entries(resources).map(([name, spec]) => world.manifest(name, spec));
  await world.kubectl.run(["apply", "-f", "-"], { stdin: JSON.stringify({ apiVersion: "v1", kind: "List", items }) });
}

/** Removes a resource and its finalizer. If the operator has deleted the resource already, this is no failure. */
async function removeByForce(world: World, name: string): Promise<void> {
  await world.delete(name);
  const finalizers = '{"metadata":{"finalizers":null}}';
  await world.kubectl.tryRun(["-n", world.namespace, "patch", "cpe", name, "--type=merge", "-p", finalizers]);
  await world.untilGone(name);
}

describe("many resources of one project", () => {
  test("five replicas of a branch and all deleted again → each follows the one before at once", async () => {
    const world = await startWorld({ sandbox: { operationLatencyMs: 100 }, environment });
    const names = [1, 2, 3, 4, 5].map((number) => `replica-${number}`);
    await applyAll(
      world,
      Object.fromEntries(names.map((name) => [name, { branchId: branches.orders, type: "ReadOnly" }])),
    );
    for (const name of names) await world.untilReady(name);
    expect(await world.sandbox.endpoints(project)).toHaveLength(names.length);

    await world.kubectl.run(["-n", world.namespace, "delete", "cpe", "--all", "--wait=false"]);
    for (const name of names) await world.untilGone(name);
    expect(await world.sandbox.endpoints(project)).toEqual([]);
  });

  test.each(["paused", "gone"] as const)("the next in the queue is %s → the one after it goes on", async (how) => {
    // While the clock stands still, the start of the first locks the project.
    const world = await startWorld({ sandbox: { clock: "stepped" }, environment });
    await world.apply("first", { branchId: branches.orders, type: "ReadWrite" });
    await world.until("first", "created", ({ status }) => status.ownership !== undefined);
    await world.apply("second", { branchId: branches.staging, type: "ReadWrite" });
    await world.until("second", "in the queue", ({ metadata }) => metadata.finalizers !== undefined);
    await world.apply("third", { branchId: branches.preview, type: "ReadWrite" });
    await world.until("third", "in the queue", ({ metadata }) => metadata.finalizers !== undefined);
    await (how === "paused" ? world.annotate("second", "paused", "true") : removeByForce(world, "second"));
    await world.sandbox.control("PUT", "/clock", { mode: "real" });
    await world.untilReady("first");
    await world.until("third", "created", ({ status }) => status.ownership !== undefined);
  });
});

describe("a control plane whose lists lag", () => {
  test.each(["seed", "public"] as const)("a move in profile %s → sent once", async (profile) => {
    const world = await startWorld({ sandbox: { profile }, environment });
    await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
    await world.untilReady("orders");
    await world.sandbox.control("PUT", "/lists/lag", { milliseconds: 3_000 });
    await world.apply("orders", { branchId: branches.staging, type: "ReadWrite" });
    await world.untilReady("orders");
    const patches = (await world.sandbox.requests()).filter(({ method }) => method === "PATCH");
    expect(patches).toHaveLength(1);
    expect(await world.sandbox.endpoints(project)).toHaveLength(1);
  });
});

describe("a resource that was removed by force during its create", () => {
  test("no resource claims its endpoint → deleted", async () => {
    const world = await startWorld({ sandbox: { operationLatencyMs: 1_000 } });
    await createdAfterItsEnd(world, "orders");
    await world.sandbox.untilNoEndpoint(project);
    expect(world.logs.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("another resource adopts the branch's endpoint meanwhile → it never loses what it was given", async () => {
    const world = await startWorld({ sandbox: { operationLatencyMs: 1_000 } });
    await createdAfterItsEnd(world, "orders", () =>
      world.apply("heir", { branchId: branches.orders, type: "ReadWrite", adoption: { policy: "AdoptOrCreate" } }),
    );
    const { status } = await world.untilReady("heir");
    await world.reconcile("heir");
    expect((await world.sandbox.endpoints(project)).map(({ id }) => id)).toEqual([status.ownership?.endpointId]);
    expect(await world.eventReasons("heir")).not.toContain("EndpointGone");
  });

  async function createdAfterItsEnd(world: World, name: string, meanwhile = async () => {}): Promise<void> {
    const held = await world.sandbox.fault({ method: "POST", path: endpointsPath, times: 1 }, { kind: "hold" });
    await world.apply(name, { branchId: branches.orders, type: "ReadWrite" });
    await world.sandbox.untilHeld(held);
    await removeByForce(world, name);
    await meanwhile();
    await world.sandbox.control("POST", `/faults/${held}/release`);
  }
});

test("status lost, names echoed, then deleted → the endpoint with our token goes too", async () => {
  const world = await startWorld({ sandbox: { profile: "public" } });
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.stopOperator();
  const args = ["-n", world.namespace, "patch", "cpe", "orders", "--subresource=status", "--type=json"];
  await world.kubectl.run([...args, "-p", '[{"op":"replace","path":"/status","value":{"observedGeneration":-1}}]']);
  await world.delete("orders");
  await world.startOperator();
  await world.untilGone("orders");
  expect(await world.sandbox.endpoints(project)).toEqual([]);
});

test("an operation fails while the resource is paused → reported all the same", async () => {
  const world = await startWorld();
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  const { status } = await world.untilReady("orders");
  await world.annotate("orders", "paused", "true");
  await world.sandbox.failNext("suspend_compute");
  await world.sandbox.api("POST", `/projects/${project}/endpoints/${status.ownership?.endpointId}/suspend`);
  const failed = await world.until("orders", "LastOperationSucceeded False", (seen) => {
    return conditionOf(seen.status.conditions, "LastOperationSucceeded")?.status === "False";
  });
  expect(conditionOf(failed.status.conditions, "Ready")?.reason).toBe("Paused");
  await world.untilEventsWith("orders", "OperationFailed");
});

test("a move to a branch that the control plane finds occupied by a replica → Stalled, not tried over and over", async () => {
  const world = await startWorld();
  const replicaId = await world.sandbox.createForeign(project, branches.staging, "read_only");
  await world.apply("orders", { branchId: branches.orders, type: "ReadWrite" });
  await world.untilReady("orders");
  await world.apply("orders", { branchId: branches.staging, type: "ReadWrite" });
  await world.untilStalled("orders", "BranchOccupied");
  for (let reconciles = 0; reconciles < 3; reconciles += 1)
    await world.sandbox.untilRequests(4, (await world.sandbox.requests()).length);
  const refused = (await world.sandbox.requests()).filter(({ method }) => method === "PATCH");
  expect(refused).toHaveLength(1);
  await world.sandbox.untilUnlocked(project);
  await world.sandbox.api("DELETE", `/projects/${project}/endpoints/${replicaId}`);
  await world.untilReady("orders");
});
