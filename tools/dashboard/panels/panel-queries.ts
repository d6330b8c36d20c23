import type { GrafanaDashboard, GrafanaPanel, GrafanaTarget } from "./grafana.ts";

/** What somebody has chosen above the panels; `All` is what the variable says it stands for. */
export interface Choice {
  readonly job: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the graphs, seconds. */
  readonly stepSeconds: number;
  /** Of the data source, seconds. */
  readonly scrapeSeconds: number;
}

/** A query of a panel, ready for Prometheus. */
export interface PanelQuery {
  readonly panel: GrafanaPanel;
  readonly target: GrafanaTarget;
  /** PromQL without variables. */
  readonly expr: string;
}

/**
 * Every query of a dashboard as Grafana would send it.
 *
 * @throws Error that names a variable which is none of the dashboard's.
 */
export function panelQueries(dashboard: Pick<GrafanaDashboard, "panels">, choice: Choice): readonly PanelQuery[] {
  return dashboard.panels.flatMap((panel) =>
    (panel.targets ?? []).map((target) => ({ panel, target, expr: substitute(target.expr, choice) })),
  );
}

/** Puts values in the place of variables. `$__rate_interval` is what Grafana makes of step and scrape interval. */
export function substitute(expr: string, { job, namespace, name, stepSeconds, scrapeSeconds }: Choice): string {
  const rateSeconds = Math.max(stepSeconds + scrapeSeconds, 4 * scrapeSeconds);
  const values: Readonly<Record<string, string>> = { job, namespace, name, __rate_interval: `${rateSeconds}s` };
  return expr.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced: string | undefined, plain: string | undefined) => {
    const value = values[braced ?? plain ?? ""];
    if (value === undefined) throw new Error(`no such variable: ${braced ?? plain} in ${expr}`);
    return value;
  });
}
