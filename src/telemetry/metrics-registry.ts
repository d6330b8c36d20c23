import { type OpenMetricsContentType, Registry } from "prom-client";

/** The registry that holds the metrics. Its type allows exemplars, which prom-client ties to one output format. */
export type MetricsRegistry = Registry<OpenMetricsContentType>;

/**
 * Makes an empty registry. Its own `metrics()` is not used, because it renames counters for good. @see render-scrape.ts
 */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
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
