/** Tests how failed operations are reported and counted. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { waitUntil } from "../support/wait-until.ts";
import { branches, project, startWorld, type World } from "../support/world.ts";

const orders = { branchId: branches.orders, type: "ReadWrite" } as const;

describe.each(["seed", "public"] as const)("profile %s, a failed operation", (profile) => {
  test("→ condition, event, metric; a later success of the same action clears it", async () => {
    const world = await startWorld({ sandbox: { profile } });
    await world.apply("orders", { ...orders, compute: { minUnits: 0.25, maxUnits: 0.25 } });
    const { status } = await world.untilReady("orders");
    const endpointPath = `/projects/${project}/endpoints/${status.ownership?.endpointId}`;
    await world.sandbox.api("POST", `${endpointPath}/suspend`);
    await world.sandbox.untilUnlocked(project);
    await world.sandbox.failNext("start_compute", { error: "no room left on the host" });
    await world.sandbox.api("POST", `${endpointPath}/start`);

    const failed = await world.until("orders", "LastOperationSucceeded False", ({ status: seen }) => {
      return conditionOf(seen.conditions, "LastOperationSucceeded")?.status === "False";
    });
    const [failure] = failed.status.failedActions ?? [];
    expect(failure?.action).toBe("start_compute");
    const operation = failed.status.operations?.find(({ id }) => id === failure?.operationId);
    expect(operation).toMatchObject({ status: "failed" });
    expect(operation?.failuresCount).toBeGreaterThan(0);
    await world.untilEventsWith("orders", "OperationFailed");
    const table = await world.kubectl.run(["-n", world.namespace, "get", "cpe"]);
    expect(table).toMatch(/orders .* True +OperationFailed/);
    const labels = `namespace="${world.namespace}",name="orders"`;
    await world.untilMetrics(/compute_endpoint_operation_failures_total\{[^}]*action="start_compute"[^}]*\} 1/);
    await world.untilMetrics(new RegExp(`compute_endpoint_operation_failed\\{[^}]*${labels}[^}]*\\} 1`));

    await world.reconcile("orders");
    const again = await world.get("orders");
    expect(conditionOf(again?.status.conditions, "LastOperationSucceeded")?.status, "a clean read clears nothing").toBe(
      "False",
    );

    await world.sandbox.api("POST", `${endpointPath}/start`);
    await world.until("orders", "LastOperationSucceeded True", ({ status: seen }) => {
      return conditionOf(seen.conditions, "LastOperationSucceeded")?.status === "True";
    });
  });
});

test("availability checks beside the changes of another client → the control plane has caused them", async () => {
  const world = await startWorld({ sandbox: { profile: "public", availabilityCheckIntervalMs: 1_000 } });
  await world.apply("orders", orders);
  const { status } = await world.untilReady("orders");
  const endpointPath = `/projects/${project}/endpoints/${status.ownership?.endpointId}`;
  for (const action of ["suspend", "start", "suspend", "start"]) {
    await world.sandbox.api("POST", `${endpointPath}/${action}`);
    await world.sandbox.untilUnlocked(project);
  }
  const checks = (cause: string) =>
    new RegExp(`compute_endpoint_operations_total\\{action="check_availability",[^}]*cause="${cause}"[^}]*\\} [1-9]`);
  await world.untilMetrics(checks("ControlPlane"));
  expect(await world.metrics()).not.toMatch(/action="check_availability",[^}]*cause="(Other|SpecChange)"/);
});

test("healed within a poll, three times → each is counted, and an event says so", async () => {
  const world = await startWorld({ environment: { PROJECT_POLL_SECONDS: "60" } });
  await world.apply("orders", orders);
  const { status } = await world.untilReady("orders");
  const endpointPath = `/projects/${project}/endpoints/${status.ownership?.endpointId}`;
  for (let round = 0; round < 3; round += 1) {
    await world.sandbox.api("POST", `${endpointPath}/suspend`);
    await world.sandbox.untilUnlocked(project);
    await world.sandbox.failNext("start_compute", { error: "no room left on the host" });
    await world.sandbox.api("POST", `${endpointPath}/start`);
    await world.sandbox.untilUnlocked(project);
    await world.sandbox.api("POST", `${endpointPath}/start`);
    await world.sandbox.untilUnlocked(project);
  }
  await world.reconcile("orders");
  await world.untilMetrics(/compute_endpoint_operation_failures_total\{[^}]*action="start_compute"[^}]*\} 3/);
  await waitUntil(async () => (await failureEvents(world)).reduce((sum, count) => sum + count, 0) === 3 || undefined, {
    what: "the events name three failures",
    lastSeen: () => world.logs.slice(-15),
  });
  expect(await failureEvents(world), "a series, not a flood").toHaveLength(1);
  const seen = await world.get("orders");
  expect(conditionOf(seen?.status.conditions, "LastOperationSucceeded")?.status).toBe("True");
});

/** Returns for each event of a failed operation how often it happened. */
async function failureEvents({ kubectl, namespace }: World): Promise<readonly number[]> {
  const { items } = await kubectl.getJson<{ items: readonly { series?: { count: number } }[] }>([
    ...["-n", namespace, "get", "events.events.k8s.io", "--field-selector=reason=OperationFailed"],
  ]);
  return items.map(({ series }) => series?.count ?? 1);
}
