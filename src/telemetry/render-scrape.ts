import { setImmediate as otherWork } from "node:timers/promises";
import { type MetricObjectWithValues, type MetricValue, Registry } from "prom-client";
import type { MetricsRegistry } from "./metrics-registry.ts";
import type { ScrapeFormat } from "./scrape-format.ts";

/** A scrape's answer. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

/** How one form of the text differs from the other. */
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

/** What prom-client keeps beside a bucket that was given an exemplar; its types do not name it. */
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
 * Everything in the registry as one scrape, in either form, so that what was counted once shows in both.
 *
 * prom-client can write one form only for a registry; writing OpenMetrics it drops `_total` from the names of its
 * counters for good, and leaves bounds and quotes as that format does not want them.
 */
export async function renderScrape(
  registry: Pick<MetricsRegistry, "getMetricsAsJSON">,
  format: ScrapeFormat,
): Promise<Scrape> {
  const dialect = dialects[format];
  // Gauges of resources and histograms are as of this moment, whatever happens while the text is written. A counter shows
  // what it has come to when its line is written: it may be ahead of them, and of another counter.
  const metrics = await registry.getMetricsAsJSON();
  const families: string[] = [];
  for (const metric of metrics) {
    families.push(await renderFamily(metric, dialect));
  }
  return { contentType: dialect.contentType, body: families.join(dialect.separator) + dialect.end };
}

/** Passes go on while thousands of samples are written: this many are written in one go. */
const samplesInARow = 1_000;

async function renderFamily(metric: Metric, dialect: Dialect): Promise<string> {
  const family = dialect.familyOf(metric);
  // In one string that grows: there are thousands of samples.
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
