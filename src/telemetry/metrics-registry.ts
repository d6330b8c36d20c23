/** Makes the registry of the metrics, and limits the values of open labels. */
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from "prom-client";

export type Labels = Readonly<Record<string, string>>;
export type Series = readonly [labels: Labels, value: number];

/** The registry that holds the metrics. Its type allows exemplars, which prom-client ties to one output format. */
export class MetricsRegistry extends Registry<OpenMetricsContentType> {
  /** Its own `metrics()` is not used, because it renames counters permanently. @see render-scrape.ts */
  constructor() {
    super();
    this.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  }

  counter<Label extends string = never>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this] });
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
 * A metric that stores nothing, because prom-client would hash and copy thousands of series at each scrape. It does not
 * check that a series comes twice.
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
    // The types of prom-client declare a number for `type`, which is this text.
    return { ...(await super.get()), type: type as never, values };
  }
}

/** The maximum length of a label value. No word of the control plane is longer. */
const longestValue = 64;

/** Turns an open string into a label value. The number of different label values is limited. */
export type BoundedLabel = (value: string) => string;

/** Limits the values of a label: the first `limit` different values are kept, and every later one becomes `other`. */
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
