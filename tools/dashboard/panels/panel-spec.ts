/** The kinds of panels of the dashboard. */

interface CommonSpec {
  readonly title: string;
  /** Says what the panel shows and what to conclude from it. Grafana shows the text beside the title. */
  readonly description: string;
  /**
   * The queries to Prometheus, in PromQL with variables of Grafana, by the name of their series: text with labels in `{{}}`.
   * In a table the name is empty, because the labels are columns.
   */
  readonly queries: Readonly<Record<string, string>>;
  /** The width in columns; a line has 24. @default the width of the section */
  readonly width?: number;
}

/** A colour with a meaning. */
export type Meaning = "green" | "orange" | "red";

/** The names of units in Grafana. */
export type Unit = "short" | "s" | "bytes" | "reqps" | "opm" | "ops" | "percentunit";

/** One present number, with its history as a line. */
export interface StatSpec extends CommonSpec {
  readonly kind: "Stat";
  readonly unit: Unit;
  /** Colours by the value from which each applies. Smaller values have the colour of text. @default none */
  readonly thresholds?: Readonly<Record<number, Meaning>>;
  /** Shows the series' names instead of their values. @default false */
  readonly showsName?: boolean;
}

/** Lines over time. */
export interface TimeSeriesSpec extends CommonSpec {
  readonly kind: "TimeSeries";
  readonly unit: Unit;
  /** Whether areas are drawn on top of each other, for parts of a whole. @default false */
  readonly isStacked?: boolean;
  /** Colours of series by their legend. Grafana chooses the others. */
  readonly colors?: Readonly<Record<string, Meaning>>;
}

/** The distribution of durations over time. Its query returns buckets by `le`. */
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
  /** The height of each panel, in cells. */
  readonly height: number;
  /** The width of each panel, in columns, unless the panel has its own. */
  readonly width: number;
  readonly panels: readonly PanelSpec[];
}

/** Selects the series of this operator's replicas, because other jobs export metrics of the same names. */
export const ofOperator = 'job=~"$job"';

/** Selects the series of the chosen resources. */
export const ofResource = `${ofOperator}, namespace=~"$namespace", name=~"$name"`;

/**
 * Returns a quantile of a histogram over all replicas.
 * @param by the labels that stay apart, beside the bucket's bound.
 */
export function quantile(fraction: number, histogram: string, by: readonly string[] = []): string {
  const labels = ["le", ...by].join(", ");
  return `histogram_quantile(${fraction}, sum by (${labels}) (rate(${histogram}_bucket{${ofOperator}}[$__rate_interval])))`;
}
