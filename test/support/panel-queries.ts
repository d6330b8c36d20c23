/** Extracts the queries of a dashboard, for tests. */
import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";

/** The values that a user has chosen above the panels. `All` is the pattern of its variable. */
export interface Choice {
  readonly job: string;
  readonly namespace: string;
  readonly name: string;
  /** The step of the graphs, in seconds. */
  readonly stepSeconds: number;
  /** The scrape interval of the data source, in seconds. */
  readonly scrapeSeconds: number;
}

/** A query of a panel that Prometheus can run. */
export interface PanelQuery {
  readonly panel: Panel;
  readonly target: Dataquery;
  /** PromQL without variables. */
  readonly expr: string;
}

/**
 * Returns every query of a dashboard as Grafana would send it.
 * @throws Error that names a variable that the dashboard does not have.
 */
export function panelQueries(dashboard: Pick<Dashboard, "panels">, choice: Choice): readonly PanelQuery[] {
  return panelsOf(dashboard).flatMap((panel) =>
    targetsOf(panel).map((target) => ({ panel, target, expr: substitute(target.expr, choice) })),
  );
}

/** Returns the panels and rows of a dashboard. A row has no queries. */
export function panelsOf({ panels = [] }: Pick<Dashboard, "panels">): readonly Panel[] {
  return panels as Panel[];
}

/** Returns the queries of a panel. */
export function targetsOf(panel: Panel): readonly Dataquery[] {
  return (panel.targets ?? []) as Dataquery[];
}

/** Replaces variables by values. Grafana computes `$__rate_interval` from step and scrape interval. */
export function substitute(expr: string, { job, namespace, name, stepSeconds, scrapeSeconds }: Choice): string {
  const rateSeconds = Math.max(stepSeconds + scrapeSeconds, 4 * scrapeSeconds);
  const values: Readonly<Record<string, string>> = { job, namespace, name, __rate_interval: `${rateSeconds}s` };
  return expr.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced: string | undefined, plain: string | undefined) => {
    const value = values[braced ?? plain ?? ""];
    if (value === undefined) throw new Error(`no such variable: ${braced ?? plain} in ${expr}`);
    return value;
  });
}
