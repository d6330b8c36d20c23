/** Builds the Grafana dashboard from its sections. */
import * as bargauge from "@grafana/grafana-foundation-sdk/bargauge";
import type { Builder } from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as heatmap from "@grafana/grafana-foundation-sdk/heatmap";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as stat from "@grafana/grafana-foundation-sdk/stat";
import * as table from "@grafana/grafana-foundation-sdk/table";
import * as timeseries from "@grafana/grafana-foundation-sdk/timeseries";
import type { PanelSpec, StatSpec, TimeSeriesSpec } from "./panels/panel-spec.ts";
import { ofOperator, type Section } from "./panels/panel-spec.ts";
import { controlPlane } from "./sections/control-plane.ts";
import { cost } from "./sections/cost.ts";
import { databaseAccess } from "./sections/database-access.ts";
import { now } from "./sections/now.ts";
import { operations } from "./sections/operations.ts";
import { replicas } from "./sections/replicas.ts";
import { resources } from "./sections/resources.ts";
import { work } from "./sections/work.ts";

/** The file that Grafana imports, relative to the repository's root. */
export const dashboardPath = "deploy/monitoring/compute-endpoints.json";

const sections: readonly Section[] = [now, resources, operations, cost, databaseAccess, controlPlane, work, replicas];

/** The Prometheus that the user chooses above the panels. */
const dataSource: common.DataSourceRef = { type: "prometheus", uid: `\${datasource}` };

/** Builds the dashboard. Pure: each call returns the same. */
export function buildDashboard(): grafana.Dashboard {
  const builder = new grafana.DashboardBuilder("Compute endpoints")
    .uid("compute-endpoints")
    .description("ComputeEndpoints, their operations at the control plane, and the operator. Made by npm run generate.")
    .tags(["endpoint-operator", "postgres"])
    .tooltip(grafana.DashboardCursorSync.Crosshair)
    .timezone("")
    .refresh("30s")
    .time({ from: "now-6h", to: "now" })
    .withVariable(new grafana.DatasourceVariableBuilder("datasource").label("Prometheus").type("prometheus"))
    .withVariable(labelVariable("job", "Operator", "label_values(endpoint_operator_build_info, job)"))
    .withVariable(
      labelVariable("namespace", "Namespace", `label_values(compute_endpoint_info{${ofOperator}}, namespace)`),
    )
    .withVariable(
      labelVariable(
        "name",
        "Resource",
        `label_values(compute_endpoint_info{${ofOperator}, namespace=~"$namespace"}, name)`,
      ),
    );
  for (const { title, height, width, panels } of sections) {
    builder.withRow(new grafana.RowBuilder(title));
    for (const spec of panels) builder.withPanel(panelOf(spec, width).height(height));
  }
  const dashboard = builder.build();
  for (const [index, panel] of (dashboard.panels ?? []).entries()) panel.id = index + 1;
  return dashboard;
}

/**
 * A variable for several or all values of a label. `All` is a pattern, because a list could have thousands of names.
 */
function labelVariable(name: string, label: string, query: string): grafana.QueryVariableBuilder {
  return new grafana.QueryVariableBuilder(name)
    .label(label)
    .query(query)
    .datasource(dataSource)
    .refresh(grafana.VariableRefresh.OnTimeRangeChanged)
    .sort(grafana.VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(".+")
    .current({ text: "All", value: "$__all" });
}

interface PanelBuilder extends Builder<grafana.Panel> {
  title(title: string): this;
  description(description: string): this;
  datasource(source: common.DataSourceRef): this;
  span(width: number): this;
  height(height: number): this;
  targets(targets: Builder<prometheus.Dataquery>[]): this;
}

function panelOf(spec: PanelSpec, width: number): PanelBuilder {
  const builder: PanelBuilder = builderOf(spec);
  return builder
    .title(spec.title)
    .description(spec.description)
    .datasource(dataSource)
    .span(spec.width ?? width)
    .targets(Object.keys(spec.queries).map((legend, index) => targetOf(spec, legend, index)));
}

function targetOf(spec: PanelSpec, legend: string, index: number): prometheus.DataqueryBuilder {
  const { kind } = spec;
  const { Table, Heatmap, TimeSeries } = prometheus.PromQueryFormat;
  const target = new prometheus.DataqueryBuilder()
    .refId(String.fromCharCode("A".charCodeAt(0) + index))
    .datasource(dataSource)
    .expr(spec.queries[legend] ?? "")
    .legendFormat(legend)
    .format(kind === "Table" ? Table : kind === "Heatmap" ? Heatmap : TimeSeries)
    .editorMode(prometheus.QueryEditorMode.Code);
  // A panel that shows only the present does not query the past.
  return kind === "Table" || kind === "BarGauge" ? target.instant() : target.range();
}

function builderOf(spec: PanelSpec) {
  switch (spec.kind) {
    case "Stat":
      return statOf(spec);
    case "TimeSeries":
      return timeSeriesOf(spec);
    case "Heatmap":
      return new heatmap.PanelBuilder()
        .color(
          new heatmap.HeatmapColorOptionsBuilder().mode(heatmap.HeatmapColorMode.Scheme).scheme("Oranges").steps(64),
        )
        .yAxis(new heatmap.YAxisConfigBuilder().unit(spec.unit))
        .hideLegend();
    case "Table":
      return new table.PanelBuilder().withTransformation({
        id: "organize",
        options: {
          // Each row describes the present, so the time and the value 1 are hidden.
          excludeByName: { Time: true, Value: true },
          indexByName: Object.fromEntries(spec.columns.map((column, index) => [column, index])),
        },
      });
    case "BarGauge":
      return coloured(new bargauge.PanelBuilder(), {})
        .unit(spec.unit)
        .min(0)
        .displayMode(common.BarGaugeDisplayMode.Basic)
        .orientation(common.VizOrientation.Horizontal)
        .reduceOptions(latest());
  }
}

const latest = () => new common.ReduceDataOptionsBuilder().calcs(["lastNotNull"]);

function statOf({ unit, thresholds = {}, showsName = false }: StatSpec): stat.PanelBuilder {
  const { Background, None } = common.BigValueColorMode;
  return coloured(new stat.PanelBuilder(), thresholds)
    .unit(unit)
    .colorMode(Object.keys(thresholds).length > 0 ? Background : None)
    .graphMode(showsName ? common.BigValueGraphMode.None : common.BigValueGraphMode.Area)
    .textMode(showsName ? common.BigValueTextMode.Name : common.BigValueTextMode.Value)
    .reduceOptions(latest());
}

function timeSeriesOf({ unit, isStacked = false, colors = {} }: TimeSeriesSpec): timeseries.PanelBuilder {
  const { Normal, None } = common.StackingMode;
  const builder = new timeseries.PanelBuilder()
    .unit(unit)
    .min(0)
    .fillOpacity(isStacked ? 30 : 5)
    .legend(new common.VizLegendOptionsBuilder().placement(common.LegendPlacement.Bottom).showLegend(true))
    .stacking(new common.StackingConfigBuilder().mode(isStacked ? Normal : None))
    .tooltip(
      new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending),
    );
  for (const [name, fixedColor] of Object.entries(colors)) {
    builder.overrideByName(name, [{ id: "color", value: { mode: "fixed", fixedColor } }]);
  }
  return builder;
}

interface ColouredBuilder {
  thresholds(thresholds: Builder<grafana.ThresholdsConfig>): this;
  colorScheme(color: Builder<grafana.FieldColor>): this;
}

function coloured<B extends ColouredBuilder>(builder: B, thresholds: NonNullable<StatSpec["thresholds"]>): B {
  const limited = Object.entries(thresholds).map(([from, color]) => ({ color, value: Number(from) }));
  // The first step has no lower limit.
  const steps = [{ color: "text", value: null }, ...limited];
  return builder
    .thresholds(new grafana.ThresholdsConfigBuilder().mode(grafana.ThresholdsMode.Absolute).steps(steps))
    .colorScheme(new grafana.FieldColorBuilder().mode(grafana.FieldColorModeId.Thresholds));
}
