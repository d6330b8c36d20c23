/** One query to Prometheus, with Grafana's variables in it. */
export interface QuerySpec {
  /** PromQL. */
  readonly expr: string;
  /** Name of each series: text with labels in `{{}}`. Empty in tables, where the labels are columns. */
  readonly legend: string;
  /** Whether single operations are shown as points. @default false */
  readonly hasExemplars?: boolean;
}

interface CommonSpec {
  readonly title: string;
  /** What the panel shows and what to conclude from it. Grafana shows the text beside the title. */
  readonly description: string;
  readonly queries: readonly QuerySpec[];
  /** In columns of 24. */
  readonly width: number;
}

/** A colour that means something. */
export type Meaning = "green" | "orange" | "red";

/** A colour, and the value from which it applies. */
export interface Threshold {
  readonly from: number;
  readonly color: Meaning;
}

/** Names of units as Grafana has them. */
export type Unit = "short" | "s" | "bytes" | "reqps" | "opm" | "ops" | "percentunit";

/** One number now, with its history as a line. */
export interface StatSpec extends CommonSpec {
  readonly kind: "Stat";
  readonly unit: Unit;
  /** Values below the first one have the colour of text. */
  readonly thresholds: readonly Threshold[];
  /** Shows the series' names instead of their values. @default false */
  readonly showsName?: boolean;
}

/** Lines over time. */
export interface TimeSeriesSpec extends CommonSpec {
  readonly kind: "TimeSeries";
  readonly unit: Unit;
  /** Draws areas on top of each other, for parts of a whole. @default false */
  readonly isStacked?: boolean;
  /** Colours of series by their legend. Grafana chooses the others. */
  readonly colors?: Readonly<Record<string, Meaning>>;
}

/** Distribution of durations over time. Its query returns buckets by `le`. */
export interface HeatmapSpec extends CommonSpec {
  readonly kind: "Heatmap";
  readonly unit: Unit;
}

/** One row for each present series. */
export interface TableSpec extends CommonSpec {
  readonly kind: "Table";
  /** The labels of the series, from left to right. */
  readonly columns: readonly string[];
}

/** One bar for each present series. */
export interface BarGaugeSpec extends CommonSpec {
  readonly kind: "BarGauge";
  readonly unit: Unit;
}

/** One panel. */
export type PanelSpec = StatSpec | TimeSeriesSpec | HeatmapSpec | TableSpec | BarGaugeSpec;

/** A row with its panels. They fill lines of 24 columns in their order. */
export interface Section {
  readonly title: string;
  /** Height of each panel, in cells. */
  readonly height: number;
  readonly panels: readonly PanelSpec[];
}

/** Selects the series of this operator's replicas, because other jobs export metrics of the same names. */
export const ofOperator = 'job=~"$job"';

/** Selects the series of the chosen resources. */
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
