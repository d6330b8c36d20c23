/** Tests how failed operations are reported and counted. */
import { describe, expect, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { branches, project, startWorld } from "../support/world.ts";

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
