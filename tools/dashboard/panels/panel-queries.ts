import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";

/** The values that are chosen above the panels. `All` is the pattern of its variable. */
export interface Choice {
  readonly job: string;
  readonly namespace: string;
  readonly name: string;
  /** Step of the graphs, seconds. */
  readonly stepSeconds: number;
  /** Scrape interval of the data source, seconds. */
  readonly scrapeSeconds: number;
}

/** A query of a panel, ready for Prometheus. */
export interface PanelQuery {
  readonly panel: Panel;
  readonly target: Dataquery;
  /** PromQL without variables. */
  readonly expr: string;
}

/**
 * Every query of a dashboard as Grafana would send it.
 *
 * @throws Error that names a variable that the dashboard does not have.
 */
export function panelQueries(dashboard: Pick<Dashboard, "panels">, choice: Choice): readonly PanelQuery[] {
  return panelsOf(dashboard).flatMap((panel) =>
    targetsOf(panel).map((target) => ({ panel, target, expr: substitute(target.expr, choice) })),
  );
}

/** The panels and rows of a dashboard. A row has no queries. */
export function panelsOf({ panels = [] }: Pick<Dashboard, "panels">): readonly Panel[] {
  return panels as Panel[];
}

/** The queries of a panel, each for Prometheus. */
export function targetsOf(panel: Panel): readonly Dataquery[] {
  return (panel.targets ?? []) as Dataquery[];
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
