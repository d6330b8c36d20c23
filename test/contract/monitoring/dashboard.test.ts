/** Tests the queries of the dashboard with Prometheus's own engine, over the series that the operator exports. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { buildDashboard } from "../../../tools/dashboard/dashboard.ts";
import { fullMetrics } from "../../support/full-metrics.ts";
import { parsePage, type Series } from "../../support/metrics-page.ts";
import { panelQueries, substitute } from "../../support/panel-queries.ts";
import { promtoolPath } from "../../support/promtool-path.ts";

const job = "endpoint-operator";

/** Counters rise, and gauges stay. Prometheus adds the labels of the scrape to series that do not have them. */
function inputOf({ metric, labels, value }: Series) {
  const all = { job, instance: "pod-1", namespace: "operators", ...labels };
  const matchers = Object.entries(all).map(([name, text]) => `${name}=${JSON.stringify(text)}`);
  const isCounter = /_(total|bucket|count|sum)$/.test(metric);
  return { series: `${metric}{${matchers.join()}}`, values: isCounter ? "0+1x240" : `${value}+0x240` };
}

/** A refused request, and a DatabaseAccess that waits. */
const troubles = ({ metric, labels }: Series): readonly Series[] => [
  ...(metric === "control_plane_requests_total" ? [{ metric, labels: { ...labels, code: "423" }, value: 1 }] : []),
  ...(metric === "database_access_ready" ? [{ metric, labels: { ...labels, name: "waiting" }, value: 0 }] : []),
];

test("every panel's query, and every list above the panels, over the operator's series → data", async (context) => {
  const binary = await promtoolPath(context);
  const choice = { job, namespace: ".+", name: ".+", stepSeconds: 30, scrapeSeconds: 30 };
  const dashboard = buildDashboard();
  const lists = (dashboard.templating?.list ?? []).flatMap(({ query }) => {
    const [, selector = "", label = ""] = /^label_values\((.*), (\w+)\)$/.exec(String(query)) ?? [];
    if (label === "") return [];
    const [, metric = "", matchers = ""] = /^(\w+)(?:\{(.*)\})?$/.exec(substitute(selector, choice)) ?? [];
    return [`${metric}{${matchers && `${matchers},`}${label}!=""}`];
  });
  expect(lists).toHaveLength(3);
  const queries = [...panelQueries(dashboard, choice).map(({ expr }) => expr), ...lists];
  expect(queries.length).toBeGreaterThan(40);
  const directory = await mkdtemp(path.join(tmpdir(), "dashboard-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const exported = parsePage(await fullMetrics().render());
  const input_series = [...exported, ...exported.flatMap(troubles)].map(inputOf);
  const promql_expr_test = queries.map((expr) => ({
    expr: `count(${expr}) > bool 0`,
    eval_time: "1h",
    exp_samples: [{ labels: "{}", value: 1 }],
  }));
  const tests = [{ interval: "30s", input_series, promql_expr_test }];
  const file = path.join(directory, "queries.json");
  await writeFile(file, JSON.stringify({ evaluation_interval: "30s", tests }));
  const run = promisify(execFile)(binary, ["test", "rules", file]);
  const { stdout } = await run.catch((error) => {
    throw new Error(`${error.stdout}${error.stderr}`);
  });
  expect(stdout).toContain("SUCCESS");
});
