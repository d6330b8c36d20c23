import { type OpenMetricsContentType, Registry } from "prom-client";

/** Where metrics are counted. Of the kind that keeps exemplars, which prom-client ties to a format of output. */
export type MetricsRegistry = Registry<OpenMetricsContentType>;

/** An empty one. Its own `metrics()` is not used: that renames counters for good. @see render-scrape.ts */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}

/** No word of the control plane is longer. */
const longestValue = 64;

/** Stands for all values beyond the bound. */
const otherLabel = "other";

/** Turns an open string into a label value, of which there are never more than the bound. */
export type BoundedLabel = (value: string) => string;

/**
 * Bounds the values of a label: the first `limit` different values are kept, every later one becomes `other`.
 *
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
