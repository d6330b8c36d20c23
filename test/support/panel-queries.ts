/** Extracts the queries of a dashboard, for tests. */
import type { Dashboard, Panel } from "@grafana/grafana-foundation-sdk/dashboard";
import type { Dataquery } from "@grafana/grafana-foundation-sdk/prometheus";

/** The values that a user has chosen above the panels. `All` is the pattern of its variable. */
interface Choice {
  readonly job: string;
  readonly namespace: string;
  readonly name: string;
  /** The step of the graphs, in seconds. */
  readonly stepSeconds: number;
  /** The scrape interval of the data source, in seconds. */
  readonly scrapeSeconds: number;
}

/** Returns every query of a dashboard as Grafana would send it: PromQL without variables. */
export function panelQueries({ panels = [] }: Pick<Dashboard, "panels">, choice: Choice) {
  return (panels as Panel[]).flatMap((panel) =>
    ((panel.targets ?? []) as Dataquery[]).map((target) => ({ panel, target, expr: substitute(target.expr, choice) })),
  );
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
