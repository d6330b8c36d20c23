/** The registry of the metrics, and a limit for the number of values of a label. */
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string>>;
export type Series = readonly [labels: Labels, value: number];

/**
 * The registry of all metrics. `metrics()` of prom-client is not used, because it renames counters permanently;
 * `renderScrape` writes the text. The OpenMetrics type allows exemplars.
 */
export class MetricsRegistry extends Registry<OpenMetricsContentType> {
  constructor() {
    super();
    this.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  }

  /**
   * Makes a counter.
   * @param known the series to make now, because Prometheus does not see the rise of a counter that first appears at 1.
   */
  counter<Label extends string = never>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    known: readonly Readonly<Record<Label, string>>[] = [],
  ): Counter<Label> {
    const counter = new Counter({ name, help, labelNames, registers: [this] });
    for (const labels of known) counter.inc(labels, 0);
    return counter;
  }

  gauge<Label extends string>(name: string, help: string, labelNames: readonly Label[]): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this] });
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    { buckets, labelNames = [] }: { readonly buckets: readonly number[]; readonly labelNames?: readonly Label[] },
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: [...buckets], registers: [this] });
  }

  /**
   * Adds a metric whose series are computed at each scrape, so that an object that is gone leaves no series.
   * @param series returns all series; must not throw.
   */
  computed(name: string, help: string, series: () => Iterable<Series>, type: "gauge" | "counter" = "gauge"): void {
    this.registerMetric(new Computed({ name, help, series, type }));
  }
}

interface ComputedMetric {
  readonly name: string;
  readonly help: string;
  readonly series: () => Iterable<Series>;
  readonly type: "gauge" | "counter";
}

/**
 * A metric whose series are computed at each scrape. It stores nothing, because prom-client would hash and copy
 * thousands of series. It does not notice a series that comes twice.
 */
class Computed extends Gauge {
  readonly #metric: ComputedMetric;

  constructor(metric: ComputedMetric) {
    super({ name: metric.name, help: metric.help, registers: [] });
    this.#metric = metric;
  }

  override async get() {
    const { series, type } = this.#metric;
    const values = Array.from(series(), ([labels, value]) => ({ labels, value }));
    // prom-client's types declare a number for `type`, but its code uses this text.
    return { ...(await super.get()), type: type as never, values };
  }
}

/** The maximum length of a label value. Every known word of the control plane is shorter. */
const longestValue = 64;

/** Converts any text into a label value. The number of different label values is limited. */
export type BoundedLabel = (value: string) => string;

/**
 * Limits the values of a label. The first `limit` values are kept. Later values, empty values and very long values
 * become `other`.
 */
export function createBoundedLabel(limit: number): BoundedLabel {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) {
      return value;
    }
    if (seen.size >= limit || value === "" || value.length > longestValue) {
      return "other";
    }
    seen.add(value);
    return value;
  };
}
