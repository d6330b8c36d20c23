import { afterAll, beforeAll, describe, expect, onTestFinished, type TestContext, test } from "vitest";
import {
  type MonitoringStack,
  type MonitoringStackOptions,
  startMonitoringStack,
} from "../../tools/prometheus/monitoring-stack.ts";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { Replicas } from "../support/e2e-replicas.ts";
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

/** The value of this series is the time since which the alert has been active. */
const activeSince = 'ALERTS_FOR_STATE{alertname="ComputeEndpointOperationFailed"}';

/** The ways in which the leader ends. `hasGap`: there must be a time in which no replica exports the resource. */
const ends = [
  { how: "is stopped", end: (leader: OperatorProcess) => leader.stop(), hasGap: false },
  // This takes as long as the lease lasts.
  ...(process.env.LONG === "1"
    ? [{ how: "is killed", end: (leader: OperatorProcess) => leader.kill(), hasGap: true }]
    : []),
];

describe("two replicas, an operation has failed", () => {
  test.for(ends)(
    "the leader $how → the alert goes on, and the pager hears nothing new",
    async ({ end, hasGap }, context) => {
      const assets = await monitoringPrograms(context);
      const world = await E2eWorld.start(sandbox);
      const project = sandbox.takeProject();
      const replicas = await Replicas.of(world, sandbox);
      const leader = await replicas.start("leader");
      await replicas.untilLeads(leader);
      const standby = await replicas.start("standby");
      const stack = await startPaging({
        assets,
        targets: [leader.operator.metricsAddress, standby.operator.metricsAddress],
      });
      await world.apply("orders", project, { type: "ReadWrite", ...small });
      await world.untilReady("orders");
      await sandbox.control.failNext("start_compute");
      await world.apply("orders", project, { type: "ReadWrite", ...large });
      await untilNotified(stack, "firing");

      await end(leader.operator);
      if (hasGap) await untilSeen(stack, "absent(compute_endpoint_info)");
      await replicas.untilLeads(standby);
      await untilSeen(stack, `compute_endpoint_operation_failed{instance="${standby.operator.metricsAddress}"}`);
      await untilSeen(stack, `timestamp(${activeSince}) > ${Date.now() / 1000}`);
      // Another time would mean that the alert ended and began again.
      const changes = await stack.prometheus.query(`changes(${activeSince}[10m])`);
      expect(changes.map(({ labels, value }) => [labels.name, value])).toEqual([["orders", 0]]);
      expect(stack.pager.alerts.map(({ status }) => status)).toEqual(["firing"]);
    },
  );
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
