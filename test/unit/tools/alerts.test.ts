/** Tests that the alerts use series that the operator exports. */
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { parseComputeEndpoint } from "../../../src/resource/compute-endpoint.ts";
import { parseDatabaseAccess } from "../../../src/resource/database-access.ts";
import { createMetrics } from "../../../src/telemetry/metrics.ts";
import { alerts, ruleGroups } from "../../../tools/monitoring/rule-files.ts";
import { parsePage, type Series } from "../../support/metrics-page.ts";
import { readExpression } from "../../support/promql.ts";

const root = new URL("../../../", import.meta.url);
const textOf = (name: string) => readFile(new URL(name, root), "utf8");

/** Labels that Prometheus adds to every scraped series. */
const targetLabels = ["job", "instance"];

/** Returns the metrics of an operator to which everything has happened that an alert looks for. */
async function exportedSeries(): Promise<readonly Series[]> {
  const nowMs = Date.parse("2026-11-21T12:00:00Z");
  const time = "2026-11-21T11:59:30Z";
  const condition = (type: string, status: string) => ({
    ...{ type, status, observedGeneration: 1, lastTransitionTime: time, reason: "Accepted", message: "" },
  });
  const conditions = [
    condition("Ready", "False"),
    condition("Stalled", "True"),
    condition("ChangePending", "True"),
    condition("LastOperationSucceeded", "False"),
    condition("CredentialsValid", "False"),
  ];
  const totals = { sinceTime: time, activeSeconds: 0, minUnitSeconds: 0, maxUnitSeconds: 0, starts: 1 };
  const operation = { id: "op-1", action: "start_compute", status: "running", cause: "Other" };
  const status = {
    conditions,
    pendingChange: { fields: [], hash: "3f9a", sinceTime: "2026-11-20T10:00:00Z" },
    state: "idle",
    operations: [{ ...operation, createdTime: time, updatedTime: time }],
    failedActions: [{ action: "start_compute", operationId: "op-0", time }],
    usage: { ...totals, asOfTime: time, isActive: true },
  };
  const suspend = { mode: "ServiceDefault" };
  const resource = parseComputeEndpoint({
    metadata: { namespace: "shop", name: "orders", uid: "uid", resourceVersion: "1" },
    spec: { projectId: "green-fox-123456", branchId: "br-quiet-sun-123456", type: "ReadWrite", suspend },
    status,
  });
  const access = parseDatabaseAccess({
    metadata: { namespace: "shop", name: "app", uid: "uid-2", resourceVersion: "1" },
  });
  const metrics = createMetrics({
    version: "1.2.3",
    workers: 16,
    resources: () => [resource],
    accesses: () => [access],
    orphanCount: () => 0,
    nowMs: () => nowMs,
    operationsAges: () => [],
    unreadableCount: () => 0,
    credentials: () => [["settings", "Refused"]],
    queueStats: () => ({ unfinishedWorkSeconds: 0, longestRunningSeconds: 0 }),
    watchStats: () => ({ hasSynced: true, isWatching: true, silentForMs: 10, lists: 1, watches: 1 }),
    leader: { leaseName: "endpoint-operator", isLeader: () => true },
  });
  const ended = { operationId: "op-0", outcome: "failed", cause: "Other", durationMs: 1 } as const;
  metrics.operations.countEnded({ namespace: "shop", name: "orders", action: "start_compute", ...ended });
  metrics.operations.usageRead(resource.key, totals);
  metrics.queue.taken(1);
  metrics.controlPlane.of("settings").requestEnded({ route: "/projects", method: "GET", code: "200", seconds: 1 });
  return parsePage(await metrics.render());
}

describe("every expression", () => {
  test.each(alerts)("$name → each selector in it finds a series that the operator exports", async ({ name, expr }) => {
    const exported = await exportedSeries();
    const { selectors } = readExpression(expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const { metric, labels } of selectors) {
      if (metric === "ALERTS") {
        // Prometheus itself makes this series: the state of this alert.
        expect(labels).toEqual({ alertname: name });
        continue;
      }
      const found = exported.filter((series) => series.metric === metric);
      expect(found, `nothing exports ${metric}`).not.toEqual([]);
      const matching = found.filter((series) =>
        Object.entries(labels).every(([key, value]) => series.labels[key] === value),
      );
      expect(matching, `no ${metric} has ${JSON.stringify(labels)}`).not.toEqual([]);
    }
  });

  test.each(alerts)("$name → whatever it groups by is a label of such a series", async ({ expr }) => {
    const exported = await exportedSeries();
    const { selectors, groupedBy } = readExpression(expr);
    const known = exported
      .filter(({ metric }) => selectors.some((selector) => selector.metric === metric))
      .flatMap(({ labels }) => Object.keys(labels));
    expect(groupedBy.filter((label) => ![...known, ...targetLabels, "namespace"].includes(label))).toEqual([]);
  });
});

describe("every alert", () => {
  test("names → used once, and each is a word", () => {
    const names = alerts.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[A-Z][A-Za-z]+$/.test(name))).toEqual([]);
  });

  test("its text → names a command or a place to look at, and no label of a replica", () => {
    for (const { name, summary, description } of alerts) {
      expect(summary.length, name).toBeLessThan(120);
      expect(summary + description, name).not.toMatch(/\$labels\.(pod|instance|job)/);
      expect(description.length, name).toBeGreaterThan(100);
    }
  });

  test.each(alerts)("$name → has a runbook with every part of one, and links it", async ({ name, severity }) => {
    const page = await textOf(`docs/runbooks/${name}.md`);
    expect(page.split("\n")[0]).toBe(`# ${name}`);
    expect(page).toContain(`Severity: ${severity}.`);
    const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title);
    expect(headings).toEqual(["Meaning", "Look at", "Do", "Silence"]);
    expect(page.split("## Look at")[1]?.split("## Do")[0]).toMatch(/^kubectl /m);
    const rules = ruleGroups().flatMap((group) => group.rules.filter((rule) => "alert" in rule));
    const rule = rules.find(({ alert }) => alert === name);
    expect(rule?.annotations.runbook_url).toBe(`https://endpoint-operator.dev/runbooks/${name}`);
  });

  test("docs/monitoring.md → a row for each, with its severity and its runbook", async () => {
    const page = await textOf("docs/monitoring.md");
    const rows = [...page.matchAll(/^\| \[(\w+)\]\(runbooks\/(\w+)\.md\) \| (\w+) \| .+ \|$/gm)];
    const listed = rows.map(([, name, target, severity]) => `${name} ${target} ${severity}`).sort();
    expect(listed).toEqual(alerts.map(({ name, severity }) => `${name} ${name} ${severity}`).sort());
  });

  test("runbooks → none for an alert that does not exist", async () => {
    const pages = (await readdir(new URL("docs/runbooks/", root))).map((file) => file.replace(".md", ""));
    expect(pages.sort()).toEqual(alerts.map(({ name }) => name).sort());
  });
});

describe("deploy/monitoring", () => {
  test("the PodMonitor → scrapes the pods of deploy/base by the port they have, and leaves labels alone", async () => {
    const [deployment] = parseAllDocuments(await textOf("deploy/base/deployment.yaml")).map((each) => each.toJS());
    const { spec } = parse(await textOf("deploy/monitoring/pod-monitor.yaml"));
    const { metadata, spec: pod } = deployment.spec.template;
    expect(metadata.labels).toMatchObject(spec.selector.matchLabels);
    const [endpoint, ...others] = spec.podMetricsEndpoints;
    expect(others).toEqual([]);
    expect(pod.containers[0].ports.map((port: { name: string }) => port.name)).toContain(endpoint.port);
    expect(endpoint.honorLabels).toBe(true);
  });
});
