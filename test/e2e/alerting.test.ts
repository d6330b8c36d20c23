import { afterAll, beforeAll, describe, expect, onTestFinished, type TestContext, test } from "vitest";
import {
  type MonitoringStack,
  type MonitoringStackOptions,
  startMonitoringStack,
} from "../../tools/prometheus/monitoring-stack.ts";
import { SandboxProcess } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { monitoringTool } from "../support/monitoring-tools.ts";
import { saveOutput } from "../support/outputs.ts";
import { waitUntil } from "../support/wait-until.ts";

const small = { compute: { minUnits: 0.25, maxUnits: 1 } };
const large = { compute: { minUnits: 0.5, maxUnits: 2 } };

let sandbox: SandboxProcess;

beforeAll(async () => {
  // This profile shows why an operation failed; profile seed does not.
  sandbox = await SandboxProcess.start({ profile: "public" });
});

afterAll(() => sandbox?.stop());

async function startWorld() {
  const world = await E2eWorld.start(sandbox);
  const project = sandbox.takeProject();
  const operator = await world.startOperator();
  return { world, project, operator };
}

async function monitoringPrograms(context: TestContext) {
  return {
    prometheus: await monitoringTool("prometheus", context),
    alertmanager: await monitoringTool("alertmanager", context),
  };
}

/** Starts Prometheus, Alertmanager and the pager until the test ends. What the pager received is then saved. */
async function startPaging(options: MonitoringStackOptions): Promise<MonitoringStack> {
  const stack = await startMonitoringStack(options);
  onTestFinished(async () => {
    await stack.stop();
    saveOutput("alerts", stack.pager.alerts.map((alert) => JSON.stringify(alert)).join("\n"));
  });
  return stack;
}

describe("a real Prometheus and Alertmanager", () => {
  test("an operation fails → the pager hears of namespace, resource and action, and of its end after a success", async (context) => {
    const assets = await monitoringPrograms(context);
    const { world, project, operator } = await startWorld();
    const stack = await startPaging({
      assets,
      targets: [operator.metricsAddress],
      // Labels that service discovery adds in a cluster. They describe the operator, not the resource.
      targetLabels: { namespace: "endpoint-operator-system", pod: "endpoint-operator-0" },
    });
    await world.apply("orders", project, { type: "ReadWrite", ...small });
    const { status } = await world.untilReady("orders");
    await untilSeen(stack, "compute_endpoint_info");
    expect(stack.pager.alerts, "while all is well").toEqual([]);

    await sandbox.control.failNext("start_compute", { error: "no compute node has room" });
    await world.apply("orders", project, { type: "ReadWrite", ...large });
    const fired = await untilNotified(stack, "firing");
    expect(fired.labels).toEqual({
      alertname: "ComputeEndpointOperationFailed",
      severity: "critical",
      namespace: world.namespace,
      name: "orders",
      action: "start_compute",
    });
    expect(fired.annotations.summary).toBe(`${world.namespace}/orders: the operation start_compute failed`);
    expect(fired.annotations.description).toContain(`kubectl -n ${world.namespace} describe cpe orders`);
    expect(fired.annotations.runbook_url).toBe("https://endpoint-operator.dev/runbooks/ComputeEndpointOperationFailed");
    const whereItPoints = ["-n", world.namespace, "describe", "cpe", "orders"];
    expect(await world.kubectl.run(whereItPoints)).toContain("no compute node has room");

    const endpointPath = `/projects/${project.id}/endpoints/${status.ownership?.endpointId}`;
    await sandbox.control.api("POST", `${endpointPath}/start`);
    const resolved = await untilNotified(stack, "resolved");
    expect(resolved.labels).toEqual(fired.labels);
    expect(stack.pager.alerts.map((alert) => [alert.labels.alertname, alert.status])).toEqual([
      ["ComputeEndpointOperationFailed", "firing"],
      ["ComputeEndpointOperationFailed", "resolved"],
    ]);
    const own = await stack.prometheus.query("workqueue_depth");
    expect(own[0]?.labels.namespace, "a series without a namespace of its own").toBe("endpoint-operator-system");
  });
});

/** Waits until a query returns a value. */
async function untilSeen({ prometheus }: MonitoringStack, query: string): Promise<void> {
  const look = async () => ((await prometheus.query(query)).length > 0 ? true : undefined);
  await waitUntil(look, { what: `Prometheus sees ${query}` });
}

async function untilNotified({ pager, prometheus }: MonitoringStack, status: "firing" | "resolved") {
  let seen: unknown;
  return await waitUntil(
    async () => {
      const found = pager.alerts.find((alert) => alert.status === status);
      if (found === undefined)
        seen = { alerts: await prometheus.api("/api/v1/alerts"), targets: await prometheus.api("/api/v1/targets") };
      return found;
    },
    { what: `the pager hears of an alert that is ${status}`, lastSeen: () => seen },
  );
}
