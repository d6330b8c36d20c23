import { setImmediate as otherWork } from "node:timers/promises";
import { type MetricObjectWithValues, type MetricValue, Registry } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";
import type { ScrapeFormat } from "./scrape-format.ts";

/** The text of one scrape. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

/** The differences between the two formats. */
interface Dialect {
  readonly contentType: string;
  /** The name in the head of a metric: OpenMetrics leaves out the suffix that each sample of a counter has. */
  familyOf(metric: Metric): string;
  /** The upper bound of a bucket. */
  renderBound(bound: number): string;
  escapeHelp(help: string): string;
  renderExemplar(exemplar: StoredExemplar): string;
  readonly separator: string;
  readonly end: string;
}

type Metric = MetricObjectWithValues<MetricValue<string>>;
type Sample = MetricValue<string> & { readonly metricName?: string; readonly exemplar?: StoredExemplar | null };

/** The exemplar that prom-client keeps beside a bucket; its types do not declare it. */
interface StoredExemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  /** Seconds since 1970, when it was observed. */
  readonly timestamp: number;
}

/** @see prometheus.io, "Exposition formats", text format 0.0.4 (read 2026-11-22) */
const prometheusText: Dialect = {
  contentType: Registry.PROMETHEUS_CONTENT_TYPE,
  familyOf: ({ name }) => name,
  renderBound: String,
  escapeHelp: (help) => help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n"),
  renderExemplar: () => "",
  separator: "\n",
  end: "",
};

/** @see OpenMetrics 1.0.0, "Text format" (read 2026-11-22) */
const openMetricsText: Dialect = {
  contentType: Registry.OPENMETRICS_CONTENT_TYPE,
  familyOf: ({ name, type }) => (String(type) === "counter" ? name.replace(/_total$/, "") : name),
  // Bounds look like floating point numbers, as Prometheus 3 writes them in any case.
  renderBound: (bound) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound)),
  escapeHelp: escapeText,
  renderExemplar: ({ labelSet, value, timestamp }) =>
    ` # {${renderPairs(labelSet, String)}} ${renderNumber(value)} ${timestamp}`,
  separator: "",
  end: "# EOF\n",
};

const dialects: Readonly<Record<ScrapeFormat, Dialect>> = { Prometheus: prometheusText, OpenMetrics: openMetricsText };

/**
 * Renders the whole registry as one scrape, in either format.
 *
 * prom-client itself can write only one format for a registry. Its OpenMetrics drops `_total` from the names of counters for
 * good, and writes bounds and quotes in a wrong form.
 */
export async function renderScrape(
  registry: Pick<MetricsRegistry, "getMetricsAsJSON">,
  format: ScrapeFormat,
): Promise<Scrape> {
  const dialect = dialects[format];
  // Gauges of resources and histograms show this moment. A counter shows its value at the time when its line is written, so
  // it may be ahead of them.
  const metrics = await registry.getMetricsAsJSON();
  const families: string[] = [];
  for (const metric of metrics) {
    families.push(await renderFamily(metric, dialect));
  }
  return { contentType: dialect.contentType, body: families.join(dialect.separator) + dialect.end };
}

/** After this many samples other work runs, because there are thousands of samples. */
const samplesInARow = 1_000;

async function renderFamily(metric: Metric, dialect: Dialect): Promise<string> {
  const family = dialect.familyOf(metric);
  // One growing string, because there are thousands of samples.
  let text = `# HELP ${family} ${dialect.escapeHelp(metric.help)}\n# TYPE ${family} ${metric.type}\n`;
  for (const [index, sample] of metric.values.entries()) {
    if (index > 0 && index % samplesInARow === 0) {
      await otherWork();
    }
    text += renderSample(metric.name, sample, dialect);
  }
  return text;
}

function renderSample(name: string, sample: Sample, dialect: Dialect): string {
  const { metricName = name, labels, value, exemplar } = sample;
  const pairs = renderPairs(labels, dialect.renderBound);
  const tail = exemplar === undefined || exemplar === null ? "" : dialect.renderExemplar(exemplar);
  return `${metricName}${pairs === "" ? "" : `{${pairs}}`} ${renderNumber(value)}${tail}\n`;
}

/** @param renderBound for the one label that prom-client holds as a number. */
function renderPairs(
  labels: Readonly<Partial<Record<string, string | number>>>,
  renderBound: (bound: number) => string,
): string {
  let text = "";
  for (const name in labels) {
    const value = labels[name] ?? "";
    text += `${text === "" ? "" : ","}${name}="${typeof value === "number" ? renderBound(value) : escapeText(value)}"`;
  }
  return text;
}

function renderNumber(value: number): string {
  if (Number.isFinite(value)) {
    return String(value);
  }
  return Number.isNaN(value) ? "NaN" : `${value > 0 ? "+" : "-"}Inf`;
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escapeText(text: string): string {
  return text.replaceAll(/[\\"\n]/g, (character) => escapes[character] ?? character);
}
