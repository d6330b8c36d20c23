import type { Prometheus } from "../../prometheus/prometheus.ts";
import type { GrafanaDashboard, GrafanaPanel } from "../panels/grafana.ts";
import { type Choice, type PanelQuery, panelQueries } from "../panels/panel-queries.ts";

/** One series as a panel shows it. */
export interface PanelSeries {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** In order of time; one point when it was asked for now. */
  readonly points: readonly (readonly [seconds: number, value: number])[];
}

/** A panel and what its queries gave. */
export interface PanelData {
  readonly panel: GrafanaPanel;
  readonly series: readonly PanelSeries[];
}

/** A stretch of time, in seconds since 1970. */
export interface TimeRange {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** Asks a real Prometheus everything that the panels ask; rows come along without series. @throws Error with its words */
export async function readPanels(
  prometheus: Pick<Prometheus, "api">,
  dashboard: Pick<GrafanaDashboard, "panels">,
  { choice, range }: { readonly choice: Choice; readonly range: TimeRange },
): Promise<readonly PanelData[]> {
  const queries = panelQueries(dashboard, choice);
  return Promise.all(
    dashboard.panels.map(async (panel) => {
      const own = queries.filter((query) => query.panel === panel);
      const answers = await Promise.all(own.map((query) => readQuery(prometheus, query, { choice, range })));
      return { panel, series: answers.flat() };
    }),
  );
}

async function readQuery(
  prometheus: Pick<Prometheus, "api">,
  { target, expr }: PanelQuery,
  { choice, range }: { readonly choice: Choice; readonly range: TimeRange },
): Promise<readonly PanelSeries[]> {
  const when: Readonly<Record<string, number>> = target.instant
    ? { time: range.endSeconds }
    : { start: range.startSeconds, end: range.endSeconds, step: choice.stepSeconds };
  const parameters = new URLSearchParams({ query: expr });
  for (const [name, value] of Object.entries(when)) parameters.set(name, String(value));
  const path = `/api/v1/${target.instant ? "query" : "query_range"}?${parameters}`;
  const { result } = (await prometheus.api(path)) as { readonly result: readonly Answer[] };
  return result.map(({ metric, values, value }) => ({
    name: target.legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ""),
    labels: metric,
    points: (values ?? (value === undefined ? [] : [value])).map(([seconds, text]) => [seconds, Number(text)] as const),
  }));
}

interface Answer {
  readonly metric: Readonly<Record<string, string>>;
  readonly values?: readonly (readonly [seconds: number, value: string])[];
  readonly value?: readonly [seconds: number, value: string];
}
