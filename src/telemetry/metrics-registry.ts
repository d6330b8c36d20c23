/** Makes the registry of the metrics, and limits the values of open labels. */
import { Gauge, type OpenMetricsContentType, Registry } from "prom-client";

/** The registry that holds the metrics. Its type allows exemplars, which prom-client ties to one output format. */
export type MetricsRegistry = Registry<OpenMetricsContentType>;

/**
 * Makes an empty registry. Its own `metrics()` is not used, because it renames counters permanently.
 * @see render-scrape.ts
 */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

export type Labels = Readonly<Record<string, string>>;
export type Series = readonly [labels: Labels, value: number];

/** A metric whose series are computed at each scrape, so that an object that is gone leaves no series. */
export interface ComputedMetric {
  readonly name: string;
  readonly help: string;
  /** @default "gauge" */
  readonly type?: "gauge" | "counter";
  /** @default no labels */
  readonly labelNames?: readonly string[];
  /** Returns all series; called at each scrape. Must not throw. */
  readonly series: () => Iterable<Series>;
}

/** Registers a computed metric. */
export function registerComputed(registry: MetricsRegistry, metric: ComputedMetric): void {
  new Computed(registry, metric);
}

/**
 * A metric that stores nothing, because prom-client would hash and copy thousands of series at each scrape. It does not
 * check that labels are declared, or that a series comes twice.
 */
class Computed extends Gauge {
  readonly #metric: ComputedMetric;

  constructor(registry: MetricsRegistry, metric: ComputedMetric) {
    const { name, help, labelNames = [] } = metric;
    super({ name, help, labelNames, registers: [registry] });
    this.#metric = metric;
  }

  override async get() {
    const { series, type = "gauge" } = this.#metric;
    const values = Array.from(series(), ([labels, value]) => ({ labels, value }));
    // The types of prom-client declare a number for `type`, which is this text.
    return { ...(await super.get()), type: type as never, values };
  }
}

/** The maximum length of a label value. No word of the control plane is longer. */
const longestValue = 64;

/** The label value that stands for all values beyond the limit. */
const otherLabel = "other";

/** Turns an open string into a label value. The number of different label values is limited. */
export type BoundedLabel = (value: string) => string;

/**
 * Limits the values of a label: the first `limit` different values are kept, and every later one becomes `other`.
 * @param limit the maximum number of values that are kept.
 */
export function createBoundedLabel(limit: number): BoundedLabel {
  const seen = new Set<string>();
  return (value) => {
    if (seen.has(value)) {
      return value;
    }
    if (seen.size >= limit || value === "" || value.length > longestValue) {
      return otherLabel;
    }
    seen.add(value);
    return value;
  };
}
