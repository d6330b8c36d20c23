/** Tests that the alerts use series that the operator exports. */
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { alerts, ruleGroups } from "../../../tools/monitoring/rule-files.ts";
import { alertCases } from "../../contract/monitoring/alert-cases.ts";
import { fullMetrics } from "../../support/full-metrics.ts";
import { parsePage, type Series } from "../../support/metrics-page.ts";

const root = new URL("../../../", import.meta.url);
const textOf = (name: string) => readFile(new URL(name, root), "utf8");

/** Labels that Prometheus adds to every scraped series. */
const targetLabels = ["job", "instance", "pod", "namespace"];
/** Labels of which the exported series show one value of many. */
const openLabels = ["name", "controller", "endpoint_id", "control_plane", "action", "status"];

test("the series over which promtool sees the alerts fire → the operator exports them, with these labels", async () => {
  const exported = parsePage(await fullMetrics().render());
  const names = alertCases.flatMap(({ series }) => Object.keys(series));
  const isExported = ({ metric, labels }: Series) =>
    exported.some(
      (own) =>
        own.metric === metric &&
        Object.entries(labels).every(([label, value]) =>
          openLabels.includes(label)
            ? label in own.labels
            : targetLabels.includes(label) || own.labels[label] === value,
        ),
    );
  expect(names.filter((name) => !parsePage(`${name} 0`).every(isExported))).toEqual([]);
});

describe("every alert", () => {
  test.each(alerts)("$name → its text names no label of a replica", ({ summary, description }) => {
    expect(summary + description).not.toMatch(/\$labels\.(pod|instance|job)/);
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
