/** Tests every query of the dashboard over a real Prometheus. */
import { execFile } from "node:child_process";
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from "vitest";
import { conditionOf } from "../../src/resource/conditions.ts";
import { buildDashboard } from "../../tools/dashboard/dashboard.ts";
import { type Prometheus, startPrometheus } from "../../tools/prometheus/prometheus.ts";
import { AccessWorld } from "../support/access-world.ts";
import type { OperatorProcess } from "../support/e2e-operator.ts";
import { SandboxProcess, type TestProject } from "../support/e2e-sandbox.ts";
import { E2eWorld } from "../support/e2e-world.ts";
import { monitoringTool } from "../support/monitoring-tools.ts";
import { type Choice, panelQueries, substitute } from "../support/panel-queries.ts";
import { waitUntil } from "../support/wait-until.ts";

const job = "endpoint-operator";
const scrapeSeconds = 0.5;

/**
 * Series that may be 0: the test causes no unexpected error and no lasting queue, and lists are rare. A reconcile that
 * waits for the control plane gives its worker back, so a scrape seldom sees a running one.
 */
const mayBeZero = ["errors", "retries", "gaps", "waiting", "under way", "longest, seconds", "lists", "watches"];

let sandbox: SandboxProcess;
beforeAll(async () => {
  // The operator recognizes an orphan only by its name, and only this profile shows names.
  sandbox = await SandboxProcess.start({ profile: "public" });
});
afterAll(() => sandbox?.stop());

async function startScraping(operator: OperatorProcess, context: TestContext): Promise<Prometheus> {
  const prometheus = await startPrometheus({
    binary: await monitoringTool("prometheus", context),
    config: {
      global: { scrape_interval: `${scrapeSeconds * 1_000}ms` },
      scrape_configs: [
        {
          job_name: job,
          honor_labels: true,
          static_configs: [{ targets: [operator.metricsAddress], labels: { namespace: "where-the-operator-runs" } }],
        },
      ],
    },
  });
  onTestFinished(() => prometheus.stop());
  // Prometheus begins to scrape some seconds after it is ready, and rates do not show what happened before.
  await waitUntil(async () => (await prometheus.query("up == 1")).length > 0 || undefined, {
    what: "the first scrape",
  });
  return prometheus;
}

/**
 * Makes everything happen that the panels must show.
 * @returns the project of the resource `failing`, with its failed operation
 */
async function causeEverything(world: E2eWorld): Promise<void> {
  const [busy, failing, refused, lost] = [0, 1, 2, 3].map(() => sandbox.takeProject()) as [
    TestProject,
    TestProject,
    TestProject,
    TestProject,
  ];
  const type = "ReadWrite";
  const sizes = [0.25, 0.5].map((units) => ({ type, compute: { minUnits: units, maxUnits: units } }));
  await Promise.all([
    world.apply("busy", busy, { type }),
    world.apply("failing", failing, { type }),
    world.apply("refused", refused, sizes[0] ?? {}),
    world.apply("kept", lost, { type }),
    world.apply("lost", lost, { type, branchId: lost.branches[1] }),
  ]);
  await Promise.all(["busy", "failing", "refused", "kept", "lost"].map((name) => world.untilReady(name)));
  await world.apply("stalled", busy, { type });
  await world.untilStalled("stalled", "ClaimedByAnother");
  await failOneOperation(world, failing);

  // Locked: the change gets 423 during several scrapes, because a rate does not see the first value of a new series.
  const lock = await sandbox.fault(
    { method: "PATCH", project: refused, tail: "/endpoints/*" },
    { kind: "status", status: 423 },
  );
  await world.apply("refused", refused, sizes[1] ?? {});
  await lock.untilHit(8);
  await lock.remove();

  // Throttled: one answer 429 asks for a pause of one second. In that time, other requests are held back.
  const limit = await sandbox.fault(
    { method: "GET", project: busy, tail: "/**", times: 1 },
    { kind: "status", status: 429, retryAfterSeconds: 1 },
  );
  await limit.untilHit();
  await limit.remove();

  // An orphan: its endpoint cannot be deleted, and a person removes the finalizer of its resource.
  const outage = await sandbox.fault(
    { method: "DELETE", project: lost, tail: "/endpoints/*" },
    { kind: "status", status: 503 },
  );
  await world.delete("lost");
  await outage.untilHit();
  const unfinalized = JSON.stringify({ metadata: { finalizers: null } });
  await world.kubectl.run(["-n", world.namespace, "patch", "cpe", "lost", "--type=merge", "-p", unfinalized]);
  await world.resources.untilGone("lost");

  await useDatabases(world);

  // The operation stays in flight as long as the control plane's clock stands still.
  await sandbox.control.untilUnlocked(busy.id);
  await suspend(busy);
  await sandbox.control.control("PUT", "/clock", { mode: "stepped" });
  await start(busy);
  await world.resources.until("busy", "an operation in flight", ({ status }) =>
    (status.operations ?? []).some((operation) => operation.status === "running" || operation.status === "scheduling"),
  );
}

/** Applies a DatabaseAccess that becomes Ready and is rotated while Prometheus scrapes, and one that waits. */
async function useDatabases(world: E2eWorld): Promise<void> {
  const accesses = new AccessWorld(world);
  await accesses.allowSecrets();
  await accesses.apply("app", { endpointRef: { name: "kept" } });
  await accesses.apply("waiting", { endpointRef: { name: "nowhere" } });
  await accesses.untilReady("app");
  const before = (await accesses.secret("app"))?.data.password;
  await accesses.annotate("app", "rotateRequestedAt", "now");
  await accesses.untilSecret("app", "another password", ({ data }) => data.password !== before);
  await accesses.untilReason("waiting", "EndpointNotFound");
}

async function failOneOperation(world: E2eWorld, project: TestProject): Promise<void> {
  await suspend(project);
  const [endpointId] = await sandbox.endpointIds(project);
  await sandbox.control.failNext("start_compute", { endpointId });
  await start(project);
  await world.resources.until("failing", "LastOperationSucceeded False", ({ status }) => {
    return conditionOf(status.conditions, "LastOperationSucceeded")?.status === "False";
  });
}

async function suspend(project: TestProject): Promise<void> {
  await sandbox.control.api("POST", `${await endpointPath(project)}/suspend`);
  await sandbox.control.untilUnlocked(project.id);
}

async function start(project: TestProject): Promise<void> {
  await sandbox.control.api("POST", `${await endpointPath(project)}/start`);
}

async function endpointPath(project: TestProject): Promise<string> {
  const [id] = await sandbox.endpointIds(project);
  return `/projects/${project.id}/endpoints/${id}`;
}

/** Returns the numbers that a panel shows for a query. */
async function numbersOf(
  prometheus: Prometheus,
  query: { readonly target: { readonly instant?: boolean | undefined }; readonly expr: string },
  sinceSeconds: number,
): Promise<readonly number[]> {
  if (query.target.instant) return (await prometheus.query(query.expr)).map(({ value }) => value);
  const range = { query: query.expr, start: `${sinceSeconds}`, end: `${Date.now() / 1_000}`, step: "1" };
  const { result } = (await prometheus.api(`/api/v1/query_range?${new URLSearchParams(range)}`)) as {
    readonly result: readonly { readonly values: readonly (readonly [seconds: number, value: string])[] }[];
  };
  return result.flatMap(({ values }) => values.map(([, text]) => Number(text.replace("Inf", "Infinity"))));
}

/** Returns the values of `label_values(SELECTOR, LABEL)`, asked for in the way in which Grafana does. */
async function valuesOf(prometheus: Prometheus, query: string, choice: Choice): Promise<unknown> {
  const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(query) ?? [];
  const match = new URLSearchParams({ "match[]": substitute(selector, choice) });
  return prometheus.api(`/api/v1/label/${label}/values?${match}`);
}

async function checkMetrics(page: string, context: TestContext): Promise<string> {
  const promtool = await monitoringTool("promtool", context);
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = execFile(promtool, ["check", "metrics"], (error, stdout, stderr) =>
    resolve(`${error === null ? "" : error.message}${stdout}${stderr}`),
  );
  child.stdin?.end(page);
  return promise;
}

test("every panel's query over a real Prometheus → data; a deleted resource leaves no series", async (context) => {
  const sinceSeconds = Date.now() / 1_000;
  const world = await E2eWorld.start(sandbox);
  const operator = await world.startOperator();
  const prometheus = await startScraping(operator, context);
  await causeEverything(world);
  // Rates look back a minute, so that late scrapes on a busy machine hide nothing.
  const choice = { job, namespace: world.namespace, name: ".+", stepSeconds: 59.5, scrapeSeconds };
  const dashboard = buildDashboard();

  const queries = panelQueries(dashboard, choice);
  expect(queries.length).toBeGreaterThan(40);
  for (const query of queries) {
    const what = `${query.panel.title}: ${query.expr}`;
    const isShown = (value: number) =>
      value > 0 || (value === 0 && mayBeZero.includes(query.target.legendFormat ?? ""));
    let seen: readonly number[] = [];
    await waitUntil(
      async () => {
        seen = await numbersOf(prometheus, query, sinceSeconds);
        return seen.some(isShown) || undefined;
      },
      { what, lastSeen: () => seen.slice(-20) },
    );
  }

  const troubled = queries.find(({ panel }) => panel.title === "Conditions that need a look")?.expr ?? "";
  const rows = (await prometheus.query(troubled)).map(({ labels: { name, type, status } }) => ({ name, type, status }));
  expect(rows).toContainEqual({ name: "failing", type: "LastOperationSucceeded", status: "False" });
  expect(rows).toContainEqual({ name: "stalled", type: "Stalled", status: "True" });

  const choices = (dashboard.templating?.list ?? []).filter(({ type }) => type === "query");
  const offered = await Promise.all(choices.map(({ query }) => valuesOf(prometheus, String(query), choice)));
  // The deleted resource can also be chosen, because the graphs go back to its time.
  expect(offered).toEqual([[job], [world.namespace], ["busy", "failing", "kept", "lost", "refused", "stalled"]]);

  expect(await checkMetrics(await operator.scrape(), context)).toBe("");

  await sandbox.control.control("PUT", "/clock", { mode: "real" });
  await world.delete("failing");
  await world.resources.untilGone("failing");
  await waitUntil(async () => ((await operator.scrape()).includes('name="failing"') ? undefined : true), {
    what: "no series of the deleted resource is left",
  });
  await waitUntil(async () => (await prometheus.query(`{name="failing"}`)).length === 0 || undefined, {
    what: "Prometheus has noticed",
  });
});
