/** One question to Prometheus, with Grafana's variables in it. */
export interface QuerySpec {
  /** PromQL. */
  readonly expr: string;
  /** What each series is called: text with labels in `{{}}`. Empty in tables, where the labels are columns. */
  readonly legend: string;
  /** Whether points lead to single operations. @default false */
  readonly hasExemplars?: boolean;
}

interface CommonSpec {
  readonly title: string;
  /** What it shows and what to make of it; Grafana shows it behind the title's mark. */
  readonly description: string;
  readonly queries: readonly QuerySpec[];
  /** Of 24. */
  readonly width: number;
}

/** A colour that means something. */
export type Meaning = "green" | "orange" | "red";

/** A value from which on a colour stands. */
export interface Threshold {
  readonly from: number;
  readonly color: Meaning;
}

/** Names of units as Grafana has them. */
export type Unit = "short" | "s" | "bytes" | "reqps" | "opm" | "ops" | "percentunit";

/** One number now, with a line of how it came to be. */
export interface StatSpec extends CommonSpec {
  readonly kind: "Stat";
  readonly unit: Unit;
  /** Below the first one it is as neutral as text. */
  readonly thresholds: readonly Threshold[];
  /** Shows the series' names instead of their values. @default false */
  readonly showsName?: boolean;
}

/** Lines over time. */
export interface TimeSeriesSpec extends CommonSpec {
  readonly kind: "TimeSeries";
  readonly unit: Unit;
  /** One area on the other, for parts of a whole. @default false */
  readonly isStacked?: boolean;
  /** Of series by the name that their legend gives; the others get any. */
  readonly colors?: Readonly<Record<string, Meaning>>;
}

/** How many durations fell where, over time. Its query gives buckets by `le`. */
export interface HeatmapSpec extends CommonSpec {
  readonly kind: "Heatmap";
  readonly unit: Unit;
}

/** One row for each series there is now. */
export interface TableSpec extends CommonSpec {
  readonly kind: "Table";
  /** The labels of the series, from left to right. */
  readonly columns: readonly string[];
}

/** One bar for each series there is now. */
export interface BarGaugeSpec extends CommonSpec {
  readonly kind: "BarGauge";
  readonly unit: Unit;
}

/** One panel, without what Grafana wants besides. */
export type PanelSpec = StatSpec | TimeSeriesSpec | HeatmapSpec | TableSpec | BarGaugeSpec;

/** A row with its panels, which fill lines of 24 columns in their order. */
export interface Section {
  readonly title: string;
  /** Of each of its panels, in cells. */
  readonly height: number;
  readonly panels: readonly PanelSpec[];
}

/** Series of this operator's replicas: other jobs export metrics of the same names. */
export const ofOperator = 'job=~"$job"';

/** Series of the resources that were chosen. */
export const ofResource = `${ofOperator}, namespace=~"$namespace", name=~"$name"`;

/**
 * A quantile of a histogram over all replicas.
 *
 * @param by labels to keep apart beside the bucket's bound.
 */
export function quantile(fraction: number, histogram: string, by: readonly string[] = []): string {
  const labels = ["le", ...by].join(", ");
  return `histogram_quantile(${fraction}, sum by (${labels}) (rate(${histogram}_bucket{${ofOperator}}[$__rate_interval])))`;
}
