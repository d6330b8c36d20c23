import { colorOf, renderHeatmap, renderLines } from "./chart.ts";
import type { PanelData, TimeRange } from "./panel-data.ts";
import { formatValue } from "./units.ts";

/** Of the grid, in pixels. */
export const cell = { width: 54, height: 30, gap: 8 };
const mostLegends = 8;

/** What the graphs span, and how far apart their points are. */
export interface GraphTime {
  readonly range: TimeRange;
  readonly stepSeconds: number;
}

/** A page that shows the panels where the dashboard has them, 24 columns wide. */
export function renderPage(panels: readonly PanelData[], time: GraphTime): string {
  const first = Math.min(...panels.map(({ panel: { gridPos } }) => gridPos.y));
  const lines = Math.max(...panels.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h)) - first;
  const moved = panels.map(({ panel, series }) => {
    return { series, panel: { ...panel, gridPos: { ...panel.gridPos, y: panel.gridPos.y - first } } };
  });
  return `<!doctype html><meta charset="utf-8"><title>Dashboard</title><style>${style(lines)}</style>
<main>${moved.map((data) => renderPanel(data, time)).join("\n")}</main>`;
}

function style(lines: number): string {
  return `
    body { margin: 0; background: #111217; color: #d8d9da; font: 13px "DejaVu Sans", sans-serif; }
    main { position: relative; width: ${24 * cell.width}px; height: ${lines * cell.height}px; }
    section { position: absolute; box-sizing: border-box; background: #181b1f; border: 1px solid #25272c;
      border-radius: 3px; overflow: hidden; padding: 6px 8px; }
    section.row { background: none; border: none; font-size: 15px; padding: 4px 8px; }
    h2 { font-size: 13px; font-weight: 500; margin: 0 0 4px; white-space: nowrap; }
    .number { font-size: 30px; white-space: nowrap; text-align: center; line-height: 62px; font-weight: 600; }
    .legend { font-size: 11px; color: #b4b7bd; height: 16px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
    .legend i { display: inline-block; width: 12px; height: 3px; margin: 0 5px 3px 10px; }
    table { border-collapse: collapse; width: 100%; font-size: 12px; }
    th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid #25272c; white-space: nowrap; }
    th { color: #6e9fff; font-weight: 500; }
    .bar { margin: 7px 0; font-size: 12px; } .bar b { display: block; height: 14px; background: #f2495c; }`;
}

function renderPanel(data: PanelData, time: GraphTime): string {
  const { title, type, gridPos } = data.panel;
  const width = gridPos.w * cell.width - cell.gap;
  const height = gridPos.h * cell.height - cell.gap;
  const place = `left:${gridPos.x * cell.width}px;top:${gridPos.y * cell.height}px;width:${width}px;height:${height}px`;
  const color = type === "stat" ? backgroundOf(data) : undefined;
  const background = color === undefined ? "" : `;background:${color}`;
  const body = type === "row" ? "" : renderBody(data, { width: width - 18, height: height - 52, ...time });
  const heading = type === "row" ? `▾ ${title}` : `<h2>${title}</h2>`;
  return `<section class="${type}" style="${place}${background}">${heading}${body}</section>`;
}

interface Room extends GraphTime {
  readonly width: number;
  readonly height: number;
}

function renderBody({ panel, series }: PanelData, room: Room): string {
  const { unit = "short", custom } = (panel.fieldConfig?.defaults ?? {}) as {
    readonly unit?: string;
    readonly custom?: { readonly stacking?: { readonly mode: string } };
  };
  const colors = Object.fromEntries(
    (panel.fieldConfig?.overrides ?? []).map(({ matcher, properties: [color] }) => [
      matcher.options,
      color?.value.fixedColor ?? "",
    ]),
  );
  switch (panel.type) {
    case "timeseries":
      return (
        renderLines(series, { ...room, unit, colors, isStacked: custom?.stacking?.mode === "normal" }) +
        legendOf(series, colors)
      );
    case "heatmap":
      return renderHeatmap(series, { ...room, height: room.height + 16, unit: "s" });
    case "stat":
      return `<div class="number">${escaped(statOf({ panel, series }, unit))}</div>`;
    case "table":
      return tableOf({ panel, series });
    case "bargauge":
      return barsOf(series);
    default:
      return "";
  }
}

function statOf({ panel, series }: PanelData, unit: string): string {
  if (panel.options?.textMode === "name") return series.map(({ name }) => name).join(", ");
  return formatValue(latestOf({ series }), unit);
}

function latestOf({ series }: Pick<PanelData, "series">): number {
  return series[0]?.points.at(-1)?.[1] ?? Number.NaN;
}

const backgrounds: Readonly<Record<string, string>> = { green: "#2d6a34", orange: "#b3581b", red: "#a3202f" };

/** The colour of the last threshold that is reached. */
function backgroundOf(data: PanelData): string | undefined {
  const { thresholds } = (data.panel.fieldConfig?.defaults ?? {}) as {
    readonly thresholds?: { readonly steps: readonly { readonly color: string; readonly value: number | null }[] };
  };
  const reached = thresholds?.steps.findLast(({ value }) => latestOf(data) >= (value ?? Number.NEGATIVE_INFINITY));
  return backgrounds[reached?.color ?? ""];
}

function legendOf(series: PanelData["series"], colors: Readonly<Record<string, string>>): string {
  const names = series.slice(0, mostLegends).map(({ name }, index) => {
    return `<i style="background:${colorOf(index, colors[name])}"></i>${escaped(name)}`;
  });
  return `<div class="legend">${names.join("")}</div>`;
}

function tableOf({ panel, series }: PanelData): string {
  const [organize] = panel.transformations ?? [];
  const columns = Object.keys((organize?.options.indexByName ?? {}) as object);
  const rows = series.map(({ labels }) =>
    columns.map((column) => `<td>${escaped(labels[column] ?? "")}</td>`).join(""),
  );
  const head = columns.map((column) => `<th>${escaped(column)}</th>`).join("");
  return `<table><tr>${head}</tr>${rows.map((row) => `<tr>${row}</tr>`).join("")}</table>`;
}

function barsOf(series: PanelData["series"]): string {
  const counts = series.map(({ name, points }) => ({ name, count: points.at(-1)?.[1] ?? 0 }));
  const most = Math.max(1, ...counts.map(({ count }) => count));
  return counts
    .map(({ name, count }) => {
      const bar = `<b style="width:${(100 * count) / most}%"></b>`;
      return `<div class="bar">${escaped(name)}: ${count}${bar}</div>`;
    })
    .join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
