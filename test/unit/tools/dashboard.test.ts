/** Tests the dashboard. */
import type { Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import { describe, expect, test } from "vitest";
import { buildDashboard } from "../../../tools/dashboard/dashboard.ts";
import { panelQueries, panelsOf, substitute, targetsOf } from "../../../tools/dashboard/panels/panel-queries.ts";
import { fullMetrics } from "../../support/full-metrics.ts";

const dashboard = buildDashboard();
const panels = panelsOf(dashboard);
const targets = panels.flatMap((panel) => targetsOf(panel).map((target) => ({ panel, target })));
const variables = (dashboard.templating?.list ?? []).map(({ name, query = "" }) => ({ name, query: String(query) }));
const choice = { job: "op", namespace: "shop", name: ".+", stepSeconds: 30, scrapeSeconds: 15 };

/** The labels of each metric. Histograms have the names of their series. Every scrape adds job and instance. */
async function labelsByMetric(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { body } = await fullMetrics().render("Prometheus");
  const series = [...body.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)];
  return new Map(
    series.map(([, name = "", labels = ""]) => [
      name,
      ["job", "instance", ...[...labels.matchAll(/(\w+)="/g)].map(([, label = ""]) => label)],
    ]),
  );
}

/** Finds `metric{label="…", …}` in an expression. Every selector here has braces, because each names its operator. */
function selectorsOf(expr: string): readonly { readonly metric: string; readonly labels: readonly string[] }[] {
  return [...expr.matchAll(/(\w+)\{([^}]*)\}/g)].map(([, metric = "", matchers = ""]) => ({
    metric,
    labels: [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label),
  }));
}

const listed = (text: string) =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

const groupingsOf = (expr: string) =>
  [...expr.matchAll(/\b(?:by|on|group_left) \(([^)]*)\)/g)].flatMap(([, list = ""]) => listed(list));

/** The place of a panel. A panel without a place is an error. */
function placeOf({ gridPos, title }: Panel) {
  if (gridPos === undefined) throw new Error(`${title} has no place`);
  return gridPos;
}

function isOverlapping(one: Panel, other: Panel): boolean {
  const [a, b] = [placeOf(one), placeOf(other)];
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** Returns every value with this key, at any depth. */
function valuesUnder(key: string, value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, child]) => [
    ...(name === key ? [child] : []),
    ...valuesUnder(key, child),
  ]);
}

describe("panels", () => {
  test("ids, and titles within a row → each once", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    let titles = new Set<string>();
    for (const { type, title } of panels) {
      if (type === "row") titles = new Set();
      expect(titles).not.toContain(title);
      titles.add(title ?? "");
    }
  });

  test("positions → all within 24 columns, none on another, no hole in any line", () => {
    for (const [index, panel] of panels.entries()) {
      expect(placeOf(panel).x + placeOf(panel).w).toBeLessThanOrEqual(24);
      expect(panels.slice(index + 1).filter((other) => isOverlapping(panel, other))).toEqual([]);
    }
    const lines = Map.groupBy(panels, (panel) => placeOf(panel).y);
    for (const [y, line] of lines) {
      expect(
        line.reduce((sum, panel) => sum + placeOf(panel).w, 0),
        `width of the line at ${y}`,
      ).toBe(24);
    }
  });

  test("each panel → says what it shows, and has a question", () => {
    for (const panel of panels.filter(({ type }) => type !== "row")) {
      expect(panel.description, panel.title).toMatch(/^\S.{15,}\.$/);
      expect(targetsOf(panel).length, panel.title).toBeGreaterThan(0);
    }
  });

  test("queries of a panel → distinct legends; either over the time range or of now", () => {
    for (const panel of panels) {
      const queries = targetsOf(panel);
      const { title } = panel;
      expect(new Set(queries.map(({ refId }) => refId)).size, title).toBe(queries.length);
      expect(
        queries.filter(({ range = false, instant = false }) => range === instant),
        title,
      ).toEqual([]);
    }
  });
});

describe("variables", () => {
  const names = variables.map(({ name }) => name);
  const usedIn = (text: string) => [...text.matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name);

  test("the data source → the chosen one, everywhere", () => {
    const chosen = `{"type":"prometheus","uid":"\${datasource}"}`;
    const sources = valuesUnder("datasource", dashboard);
    expect(sources.length, "of each query, panel and variable that asks").toBeGreaterThan(targets.length + 30);
    expect(sources.filter((source) => JSON.stringify(source) !== chosen)).toEqual([]);
  });

  test("those there are → each used, and no other", () => {
    const texts = [...targets.map(({ target }) => target.expr), ...variables.map(({ query }) => query)];
    const used = new Set([...texts.flatMap(usedIn), "datasource"]);
    expect([...used].filter((name) => !name.startsWith("__")).sort()).toEqual([...names].sort());
    expect([...used].filter((name) => name.startsWith("__"))).toEqual(["__rate_interval"]);
  });

  test("a variable that asks by another one → stands behind it", () => {
    for (const [index, { query }] of variables.entries()) {
      expect(names.slice(0, index), query).toEqual(expect.arrayContaining(usedIn(query)));
    }
  });

  test("values in their place → none left; an unknown one → an error that names it", () => {
    for (const { expr } of panelQueries(dashboard, choice)) expect(expr).not.toContain("$");
    expect(substitute(`rate(x{job=~"$job"}[$__rate_interval])`, choice)).toBe(`rate(x{job=~"op"}[60s])`);
    expect(substitute(`x{n=~"\${name}"}[$__rate_interval]`, { ...choice, stepSeconds: 120 })).toBe('x{n=~".+"}[135s]');
    expect(() => substitute("x[$__interval]", choice)).toThrow("no such variable: __interval");
  });
});

describe("queries", () => {
  test("metrics and labels → those that the operator exports", async () => {
    const known = await labelsByMetric();
    const texts = [...targets.map(({ target }) => target.expr), ...variables.map(({ query }) => query)];
    for (const expr of texts) {
      const selectors = selectorsOf(expr);
      for (const { metric, labels } of selectors) {
        expect([...known.keys()], expr).toContain(metric);
        expect(known.get(metric), expr).toEqual(expect.arrayContaining([...labels]));
      }
      const all = selectors.flatMap(({ metric }) => known.get(metric) ?? []);
      expect(all, expr).toEqual(expect.arrayContaining([...groupingsOf(expr)]));
    }
  });

  test("each selector → of the chosen operators alone", () => {
    for (const { panel, target } of targets) {
      const selectors = [...target.expr.matchAll(/\w+(\{[^}]*\})/g)].map(([, braces = ""]) => braces);
      expect(selectors.length, panel.title).toBeGreaterThan(0);
      for (const braces of selectors) expect(braces, panel.title).toContain('job=~"$job"');
    }
  });

  test("labels in a legend → kept by the query; a table has none", () => {
    for (const { panel, target } of targets) {
      const shown = [...(target.legendFormat ?? "").matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);
      expect(groupingsOf(target.expr), panel.title).toEqual(expect.arrayContaining(shown));
      expect(target.legendFormat === "", panel.title).toBe(panel.type === "table");
    }
  });

  test("columns of a table → the labels that its query keeps, each once", () => {
    const tables = targets.filter(({ panel }) => panel.type === "table");
    expect(tables).toHaveLength(3);
    for (const { panel, target } of tables) {
      const [organize] = panel.transformations ?? [];
      const columns = Object.keys((organize?.options.indexByName ?? {}) as object);
      expect([...new Set(groupingsOf(target.expr))].sort(), panel.title).toEqual([...columns].sort());
    }
  });

  test("colours of series → of names that the legend can give", () => {
    const coloured = panels.flatMap((panel) => (panel.fieldConfig?.overrides ?? []).map((one) => ({ panel, one })));
    expect(coloured).toHaveLength(7);
    for (const { panel, one } of coloured) {
      const legends = targetsOf(panel).map(({ legendFormat = "" }) => legendFormat.replaceAll(/\{\{\w+\}\}/g, "\\w+"));
      expect(one.matcher.options, panel.title).toMatch(new RegExp(`^(${legends.join("|")})$`));
    }
  });

  test("counters → asked for their rate, save where the whole count is shown", () => {
    for (const { panel, target } of targets) {
      const bare = [...target.expr.matchAll(/(?<!(?:rate|increase)\()\b(\w+(?:_total|_bucket))\{/g)];
      expect(bare.length === 0 || panel.title === "Failures by resource", target.expr).toBe(true);
    }
  });

  test("what the operator exports → is on the dashboard, save what is known to add nothing", async () => {
    const shown = targets.flatMap(({ target }) => selectorsOf(target.expr).map(({ metric }) => metric));
    const families = [...(await labelsByMetric()).keys()].filter((name) => !/_(sum|count)$/.test(name));
    expect(families.filter((name) => !shown.includes(name)).sort()).toEqual([
      // The panel of requests by route shows it.
      "control_plane_calls_total",
      // The panel of throttled requests shows refused requests.
      "control_plane_request_budget_wait_seconds_bucket",
      // It is 0 in normal operation, and the log names the objects.
      "control_plane_unreadable_objects",
      "process_start_time_seconds",
      // The panel about the age of the watch's last byte shows this better.
      "reflector_synced",
      "reflector_watching",
      // The panel of the longest time shows it.
      "workqueue_unfinished_work_seconds",
      // The panel about the duration of a reconcile shows it.
      "workqueue_work_duration_seconds_bucket",
    ]);
  });
});
