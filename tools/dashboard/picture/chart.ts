import type { PanelSeries, TimeRange } from "./panel-data.ts";
import { formatValue } from "./units.ts";

/** What a chart is drawn into, in pixels, and what its values are. */
export interface ChartFrame {
  readonly width: number;
  readonly height: number;
  /** Grafana's name. */
  readonly unit: string;
  readonly range: TimeRange;
  readonly stepSeconds: number;
}

const palette = [
  "#73bf69",
  "#5794f2",
  "#f2cc0c",
  "#ff9830",
  "#b877d9",
  "#f2495c",
  "#8ab8ff",
  "#96d98d",
  "#ffb357",
  "#ca95e5",
];
const margin = { left: 66, right: 10, top: 8, bottom: 20 };
const gridLines = 4;

const meanings: Readonly<Record<string, string>> = { green: "#73bf69", orange: "#ff9830", red: "#f2495c" };

/** The colour of the series at this place, unless its name means one. */
export function colorOf(index: number, meaning?: string): string {
  return meanings[meaning ?? ""] ?? palette[index % palette.length] ?? "#ccc";
}

/** Lines, or areas one on the other, as SVG. */
export function renderLines(
  series: readonly PanelSeries[],
  frame: ChartFrame & { readonly isStacked: boolean; readonly colors: Readonly<Record<string, string>> },
): string {
  const tops = frame.isStacked ? stacked(series) : series;
  const highest = Math.max(
    0,
    ...tops.flatMap(({ points }) => points.map(([, value]) => value).filter(Number.isFinite)),
  );
  const scale = frame.unit === "bytes" ? 2 ** 20 : 1;
  const top = niceAbove(highest / scale) * scale;
  const { x, y } = scalesOf(frame, top);
  const drawn = tops.map(({ name, points }, index) => {
    const runs = runsOf(points, frame.stepSeconds).map((run) =>
      run.map(([seconds, value]) => `${x(seconds)},${y(value)}`),
    );
    const color = colorOf(index, frame.colors[name]);
    const areas = frame.isStacked ? runs.map((run) => area(run, color, y(0))) : [];
    const lines = runs.map((run) => stroke(run, color));
    return [...areas, ...lines].join("");
  });
  // The lowest one is drawn last, so that none hides it.
  return svg(frame, axes(frame, top) + drawn.reverse().join(""));
}

/** Counts by bucket over time, as SVG. The series are cumulative, named by their upper bounds. */
export function renderHeatmap(series: readonly PanelSeries[], frame: ChartFrame): string {
  const bounds = series
    .map(({ labels, points }) => ({ le: Number((labels.le ?? "").replace("Inf", "Infinity")), points }))
    .sort((a, b) => a.le - b.le);
  const cells = bounds.map(({ le, points }, index) => {
    const below = new Map(bounds[index - 1]?.points);
    return { le, points: points.map(([seconds, value]) => [seconds, value - (below.get(seconds) ?? 0)] as const) };
  });
  const shown = cells.filter(({ points }) => points.some(([, value]) => value > 1e-6));
  const most = Math.max(1e-9, ...shown.flatMap(({ points }) => points.map(([, value]) => value)));
  const { x } = scalesOf(frame, 1);
  const rowHeight = (frame.height - margin.top - margin.bottom) / Math.max(1, shown.length);
  const body = shown.map(({ le, points }, index) => {
    const top = frame.height - margin.bottom - (index + 1) * rowHeight;
    const label = text(margin.left - 6, top + rowHeight / 2 + 4, formatValue(le, frame.unit), "end");
    const width = (x(points[1]?.[0] ?? 0) - x(points[0]?.[0] ?? 0)) * 0.95;
    const rects = points
      .filter(([, value]) => value > 1e-6)
      .map(([seconds, value]) => {
        const opacity = (0.15 + 0.85 * Math.sqrt(value / most)).toFixed(2);
        return `<rect x="${x(seconds)}" y="${(top + 1).toFixed(1)}" width="${Math.max(1, width).toFixed(1)}" height="${(rowHeight - 2).toFixed(1)}" fill="#ff9830" opacity="${opacity}"/>`;
      });
    return label + rects.join("");
  });
  return svg(frame, body.join("") + timeAxis(frame));
}

function stacked(series: readonly PanelSeries[]): readonly PanelSeries[] {
  const sums = new Map<number, number>();
  return series.map((one) => ({
    ...one,
    points: one.points.map(([seconds, value]) => {
      const sum = (sums.get(seconds) ?? 0) + (Number.isFinite(value) ? value : 0);
      sums.set(seconds, sum);
      return [seconds, sum] as const;
    }),
  }));
}

/** Stretches without a gap. Prometheus leaves out the steps at which a series was not there. */
function runsOf(points: PanelSeries["points"], stepSeconds: number): readonly PanelSeries["points"][] {
  const runs: (readonly [number, number])[][] = [[]];
  for (const [seconds, value] of points) {
    const before = runs.at(-1)?.at(-1)?.[0] ?? seconds;
    if (seconds - before > 1.5 * stepSeconds || !Number.isFinite(value)) runs.push([]);
    if (Number.isFinite(value)) runs.at(-1)?.push([seconds, value]);
  }
  return runs.filter((run) => run.length > 0);
}

/** A point that stands alone would be a line of no length. */
function stroke(run: readonly string[], color: string): string {
  const [[x = "", y = ""] = []] = run.map((point) => point.split(","));
  return run.length === 1
    ? `<circle cx="${x}" cy="${y}" r="1.6" fill="${color}"/>`
    : `<polyline points="${run.join(" ")}" fill="none" stroke="${color}" stroke-width="1.3"/>`;
}

function area(run: readonly string[], color: string, bottom: number): string {
  const [first = "", last = ""] = [run[0], run.at(-1)];
  const corners = [`${last.split(",")[0]},${bottom}`, `${first.split(",")[0]},${bottom}`];
  return `<polygon points="${[...run, ...corners].join(" ")}" fill="${color}" opacity="0.25"/>`;
}

function scalesOf({ width, height, range }: ChartFrame, top: number) {
  const { startSeconds, endSeconds } = range;
  const innerWidth = width - margin.left - margin.right;
  const innerHeight = height - margin.top - margin.bottom;
  const rounded = (value: number) => Math.round(value * 10) / 10;
  return {
    x: (seconds: number) =>
      rounded(margin.left + (innerWidth * (seconds - startSeconds)) / (endSeconds - startSeconds)),
    y: (value: number) => rounded(height - margin.bottom - (innerHeight * value) / top),
  };
}

function axes(frame: ChartFrame, top: number): string {
  const { y } = scalesOf(frame, top);
  const lines = Array.from({ length: gridLines + 1 }, (_, index) => {
    const value = (top * index) / gridLines;
    const line = `<line x1="${margin.left}" x2="${frame.width - margin.right}" y1="${y(value)}" y2="${y(value)}" stroke="#2c3235"/>`;
    return line + text(margin.left - 6, y(value) + 4, formatValue(value, frame.unit), "end");
  });
  return lines.join("") + timeAxis(frame);
}

function timeAxis(frame: ChartFrame): string {
  const { x } = scalesOf(frame, 1);
  const { startSeconds, endSeconds } = frame.range;
  const minutes = Array.from({ length: Math.ceil((endSeconds - startSeconds) / 60) + 1 }, (_, index) => {
    return (Math.ceil(startSeconds / 60) + index) * 60;
  });
  return minutes
    .filter((seconds) => x(seconds) < frame.width - 25)
    .map((seconds) => {
      const label = new Date(seconds * 1_000).toISOString().slice(11, 16);
      return text(x(seconds), frame.height - 5, label, "middle");
    })
    .join("");
}

/** 1, 2, 2.5 or 5 of some power of ten. */
function niceAbove(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 2.5, 5, 10].find((step) => step * power >= value) ?? 10);
}

function text(x: number, y: number, words: string, anchor: "end" | "middle"): string {
  return `<text x="${x}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="#9fa7b3" font-size="11">${words}</text>`;
}

function svg({ width, height }: ChartFrame, body: string): string {
  return `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${body}</svg>`;
}
