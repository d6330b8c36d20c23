/** Tests that the alerts use series that the operator exports. */
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { alerts, ruleGroups } from "../../../tools/monitoring/rule-files.ts";
import { fullMetrics } from "../../support/full-metrics.ts";
import { parsePage } from "../../support/metrics-page.ts";
import { readExpression } from "../../support/promql.ts";

const root = new URL("../../../", import.meta.url);
const textOf = (name: string) => readFile(new URL(name, root), "utf8");

/** Labels that Prometheus adds to every scraped series. */
const targetLabels = ["job", "instance"];

const exportedSeries = async () => parsePage(await fullMetrics().render());

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
