import { type OpenMetricsContentType, Registry } from "prom-client";

/** Where metrics are counted. Of the kind that keeps exemplars, which prom-client ties to a format of output. */
export type MetricsRegistry = Registry<OpenMetricsContentType>;

/** An empty one. Its own `metrics()` is not used: that renames counters for good. @see render-scrape.ts */
export function createMetricsRegistry(): MetricsRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  return registry;
}
