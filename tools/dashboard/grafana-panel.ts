import type { GrafanaDataSource, GrafanaPanel, GrafanaTarget, GridPosition } from "./panels/grafana.ts";
import type { PanelSpec, QuerySpec, StatSpec, Threshold, TimeSeriesSpec } from "./panels/panel-spec.ts";

/** What is chosen above the panels. */
export const dataSource: GrafanaDataSource = { type: "prometheus", uid: `\${datasource}` };

type PanelBody = Pick<GrafanaPanel, "type" | "options" | "fieldConfig" | "transformations">;

/** A panel as Grafana wants it. Pure. */
export function grafanaPanel(
  spec: PanelSpec,
  place: { readonly id: number; readonly gridPos: GridPosition },
): GrafanaPanel {
  return {
    ...place,
    title: spec.title,
    description: spec.description,
    datasource: dataSource,
    targets: spec.queries.map((query, index) => targetOf(spec, query, index)),
    ...bodyOf(spec),
  };
}

function targetOf({ kind }: PanelSpec, query: QuerySpec, index: number): GrafanaTarget {
  // What shows the present only need not be asked for the past.
  const isInstant = kind === "Table" || kind === "BarGauge";
  return {
    refId: String.fromCharCode("A".charCodeAt(0) + index),
    datasource: dataSource,
    expr: query.expr,
    legendFormat: query.legend,
    format: kind === "Table" ? "table" : kind === "Heatmap" ? "heatmap" : "time_series",
    range: !isInstant,
    instant: isInstant,
    exemplar: query.hasExemplars ?? false,
    editorMode: "code",
  };
}

function bodyOf(spec: PanelSpec): PanelBody {
  switch (spec.kind) {
    case "Stat":
      return statBody(spec);
    case "TimeSeries":
      return timeSeriesBody(spec);
    case "Heatmap":
      return {
        type: "heatmap",
        fieldConfig: { defaults: {}, overrides: [] },
        options: {
          calculate: false,
          cellGap: 1,
          color: {
            mode: "scheme",
            scheme: "Oranges",
            fill: "dark-orange",
            scale: "exponential",
            exponent: 0.5,
            reverse: false,
            steps: 64,
          },
          filterValues: { le: 1e-9 },
          legend: { show: false },
          rowsFrame: { layout: "auto" },
          tooltip: { mode: "single", yHistogram: false, showColorScale: false },
          yAxis: { axisPlacement: "left", reverse: false, unit: spec.unit },
        },
      };
    case "Table":
      return {
        type: "table",
        fieldConfig: { defaults: { custom: { align: "auto", cellOptions: { type: "auto" } } }, overrides: [] },
        options: { showHeader: true },
        // Every row is a fact of now; neither the time nor the 1 says more.
        transformations: [
          {
            id: "organize",
            options: { excludeByName: { Time: true, Value: true }, indexByName: placesOf(spec.columns) },
          },
        ],
      };
    case "BarGauge":
      return {
        type: "bargauge",
        fieldConfig: { defaults: { unit: spec.unit, min: 0, ...coloured([]) }, overrides: [] },
        options: { displayMode: "basic", orientation: "horizontal", valueMode: "color", reduceOptions: latest },
      };
    default:
      return assertNever(spec);
  }
}

const latest = { calcs: ["lastNotNull"], fields: "", values: false };

function statBody({ unit, thresholds, showsName = false }: StatSpec): PanelBody {
  return {
    type: "stat",
    fieldConfig: { defaults: { unit, ...coloured(thresholds) }, overrides: [] },
    options: {
      colorMode: thresholds.length > 0 ? "background" : "none",
      graphMode: showsName ? "none" : "area",
      justifyMode: "auto",
      orientation: "auto",
      reduceOptions: latest,
      textMode: showsName ? "name" : "value",
    },
  };
}

function placesOf(columns: readonly string[]): Readonly<Record<string, number>> {
  return Object.fromEntries(columns.map((column, index) => [column, index]));
}

function timeSeriesBody({ unit, isStacked = false, colors = {} }: TimeSeriesSpec): PanelBody {
  const custom = {
    drawStyle: "line",
    lineInterpolation: "linear",
    lineWidth: 1,
    fillOpacity: isStacked ? 30 : 5,
    showPoints: "auto",
    spanNulls: false,
    stacking: { mode: isStacked ? "normal" : "none", group: "A" },
  };
  const overrides = Object.entries(colors).map(([name, fixedColor]) => ({
    matcher: { id: "byName" as const, options: name },
    properties: [{ id: "color" as const, value: { mode: "fixed", fixedColor } }],
  }));
  return {
    type: "timeseries",
    fieldConfig: { defaults: { unit, min: 0, color: { mode: "palette-classic" }, custom }, overrides },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
      tooltip: { mode: "multi", sort: "desc" },
    },
  };
}

function coloured(thresholds: readonly Threshold[]) {
  const steps = thresholds.map(({ from, color }) => ({ color, value: from }));
  return {
    color: { mode: "thresholds" },
    // The first step reaches down without end.
    thresholds: { mode: "absolute", steps: [{ color: "text", value: null }, ...steps] },
  };
}

function assertNever(spec: never): never {
  throw new Error(`no such panel: ${JSON.stringify(spec)}`);
}
