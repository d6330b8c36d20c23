import { dataSource, grafanaPanel } from "./grafana-panel.ts";
import type { GrafanaDashboard, GrafanaPanel, GrafanaVariable } from "./panels/grafana.ts";
import { ofOperator, type Section } from "./panels/panel-spec.ts";
import { controlPlane } from "./sections/control-plane.ts";
import { now } from "./sections/now.ts";
import { operations } from "./sections/operations.ts";
import { replicas } from "./sections/replicas.ts";
import { resources } from "./sections/resources.ts";
import { work } from "./sections/work.ts";

/** Where the file is that Grafana imports, relative to the repository's root. */
export const dashboardPath = "deploy/monitoring/compute-endpoints.json";

const sections: readonly Section[] = [now, resources, operations, controlPlane, work, replicas];

const columns = 24;

/** The dashboard. Pure; the same at each call. */
export function buildDashboard(): GrafanaDashboard {
  return {
    uid: "compute-endpoints",
    title: "Compute endpoints",
    description:
      "ComputeEndpoints, the operations of the service behind them, and the operator. Made by npm run generate.",
    tags: ["endpoint-operator", "postgres"],
    // The one of Grafana 11 and 12, which later ones read as well.
    schemaVersion: 41,
    editable: true,
    graphTooltip: 1,
    timezone: "",
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    templating: { list: variables() },
    annotations: { list: [] },
    links: [],
    panels: layOut(sections),
  };
}

function variables(): readonly GrafanaVariable[] {
  return [
    {
      name: "datasource",
      label: "Prometheus",
      type: "datasource",
      query: "prometheus",
      refresh: 1,
      current: { text: "default", value: "default" },
      options: [],
      hide: 0,
    },
    labelVariable("job", "Operator", `label_values(endpoint_operator_build_info, job)`),
    labelVariable("namespace", "Namespace", `label_values(compute_endpoint_info{${ofOperator}}, namespace)`),
    labelVariable(
      "name",
      "Resource",
      `label_values(compute_endpoint_info{${ofOperator}, namespace=~"$namespace"}, name)`,
    ),
  ];
}

/** Several or all values of a label; `All` is not a list of thousands of names but a pattern. */
function labelVariable(name: string, label: string, query: string): GrafanaVariable {
  return {
    name,
    label,
    type: "query",
    query,
    datasource: dataSource,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: ".+",
    current: { text: "All", value: "$__all" },
    options: [],
    hide: 0,
  };
}

/** Rows from top to bottom, the panels of each from left to right. */
function layOut(all: readonly Section[]): readonly GrafanaPanel[] {
  const panels: GrafanaPanel[] = [];
  let y = 0;
  for (const { title, height, panels: specs } of all) {
    const gridPos = { x: 0, y, w: columns, h: 1 };
    panels.push({ id: panels.length + 1, type: "row", title, collapsed: false, gridPos, panels: [] });
    y += 1;
    let x = 0;
    for (const spec of specs) {
      if (x + spec.width > columns) {
        x = 0;
        y += height;
      }
      panels.push(grafanaPanel(spec, { id: panels.length + 1, gridPos: { x, y, w: spec.width, h: height } }));
      x += spec.width;
    }
    y += height;
  }
  return panels;
}
