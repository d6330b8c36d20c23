/** Writes the metrics as text, in the format of Prometheus or of OpenMetrics. */
import { setImmediate as otherWork } from "node:timers/promises";
import { type MetricObjectWithValues, type MetricValue, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The text of one scrape. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

/** The differences between the two text formats. */
interface Dialect {
  readonly contentType: string;
  /**
   * Returns the name for the lines HELP and TYPE. In OpenMetrics, it has no `_total`, which each sample of a counter
   * has.
   */
  familyOf(metric: Metric): string;
  /** Returns the upper bound of a bucket as text. */
  renderBound(bound: number): string;
  escapeHelp(help: string): string;
  renderExemplar(exemplar: StoredExemplar): string;
  readonly separator: string;
  readonly end: string;
}

type Metric = MetricObjectWithValues<MetricValue<string>>;
type Sample = MetricValue<string> & { readonly metricName?: string; readonly exemplar?: StoredExemplar | null };

/** The exemplar of a bucket, as prom-client stores it. prom-client's types do not declare it. */
interface StoredExemplar {
  readonly labelSet: Readonly<Record<string, string>>;
  readonly value: number;
  /** When the exemplar was observed, in seconds since 1970. */
  readonly timestamp: number;
}

/** The Prometheus text format. @see prometheus.io, "Exposition formats", text format 0.0.4 (read 2026-11-22) */
const prometheusText: Dialect = {
  contentType: Registry.PROMETHEUS_CONTENT_TYPE,
  familyOf: ({ name }) => name,
  renderBound: String,
  escapeHelp: (help) => help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n"),
  renderExemplar: () => "",
  separator: "\n",
  end: "",
};

/** The OpenMetrics format. @see OpenMetrics 1.0.0, "Text format" (read 2026-11-22) */
const openMetricsText: Dialect = {
  contentType: Registry.OPENMETRICS_CONTENT_TYPE,
  familyOf: ({ name, type }) => (String(type) === "counter" ? name.replace(/_total$/, "") : name),
  // Bounds are written with a decimal point, as Prometheus 3 shows them for both formats.
  renderBound: (bound) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound)),
  escapeHelp: escapeText,
  renderExemplar: ({ labelSet, value, timestamp }) =>
    ` # {${renderPairs(labelSet, String)}} ${renderNumber(value)} ${timestamp}`,
  separator: "",
  end: "# EOF\n",
};

const dialects: Readonly<Record<ScrapeFormat, Dialect>> = { Prometheus: prometheusText, OpenMetrics: openMetricsText };

/**
 * Writes all metrics of the registry in one of the formats. prom-client's own OpenMetrics output removes `_total` from
 * the names of counters permanently, and has wrong bounds and quotes.
 */
export async function renderScrape(
  registry: Pick<MetricsRegistry, "getMetricsAsJSON">,
  format: ScrapeFormat,
): Promise<Scrape> {
  const dialect = dialects[format];
  // This call computes the gauges of resources and the histograms. The value of a counter is read later, when its line
  // is written.
  const metrics = await registry.getMetricsAsJSON();
  const families: string[] = [];
  for (const metric of metrics) {
    families.push(await renderFamily(metric, dialect));
  }
  return { contentType: dialect.contentType, body: families.join(dialect.separator) + dialect.end };
}

/** After this many samples, other work of the process may run. A scrape has thousands of samples. */
const samplesInARow = 1_000;

async function renderFamily(metric: Metric, dialect: Dialect): Promise<string> {
  const family = dialect.familyOf(metric);
  // One string for all lines is fast, and there are thousands of samples.
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

/**
 * Writes the labels of a sample.
 * @param renderBound writes `le`, the only label whose value prom-client holds as a number
 */
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

/** The two formats of `/metrics`. Only OpenMetrics contains exemplars. */
export type ScrapeFormat = "Prometheus" | "OpenMetrics";

interface MediaRange {
  readonly type: string;
  readonly version: string | undefined;
  /** The weight of this media range, from 0 to 1; 0: the client does not accept it. */
  readonly quality: number;
}

/** The maximum number of media ranges that are read from one Accept header. */
const maxRanges = 32;

/**
 * Chooses the format by the Accept header. It is OpenMetrics if the header accepts OpenMetrics, in a supported version or
 * without a version, and does not prefer plain text. Browsers, curl and an empty header get plain text.
 */
export function scrapeFormatFor(accept: string): ScrapeFormat {
  const ranges = accept.split(",", maxRanges).map(parseRange);
  const qualityOf = (types: readonly string[], versions: readonly string[]) =>
    Math.max(
      0,
      ...ranges
        .filter(({ type, version }) => types.includes(type) && (version === undefined || versions.includes(version)))
        .map(({ quality }) => quality),
    );
  const openMetrics = qualityOf(["application/openmetrics-text"], ["1.0.0"]);
  const plain = qualityOf(["text/plain", "text/*", "*/*"], ["0.0.4"]);
  return openMetrics > 0 && openMetrics >= plain ? "OpenMetrics" : "Prometheus";
}

function parseRange(text: string): MediaRange {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const parameterOf = (name: string) =>
    parameters
      .find((parameter) => parameter.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', "");
  const quality = Number(parameterOf("q") ?? 1);
  return { type, version: parameterOf("version"), quality: Number.isFinite(quality) ? quality : 0 };
}

interface SharedScrapeOptions {
  readonly clock: Clock;
  readonly render: (format: ScrapeFormat) => Promise<Scrape>;
}

/** A rendered scrape as bytes. All requests that share it send these bytes. */
interface ScrapeBytes {
  readonly contentType: string;
  readonly body: Buffer;
}

/**
 * A scrape is reused for this many times the time that it took to write, but at most for one second. If it took half a
 * second or less, scrapes of one format use at most a third of the processor.
 */
const reuseFactor = 2;
const longestReuseMs = 1_000;

/**
 * Makes a function that writes the metrics once for all requests of the same time. It keeps the bytes while they may be
 * reused: one copy for each format.
 */
export function createSharedScrape({ clock, render }: SharedScrapeOptions) {
  const shared = new Map<ScrapeFormat, Promise<ScrapeBytes>>();

  async function begin(format: ScrapeFormat): Promise<ScrapeBytes> {
    const startMs = clock.monotonicMs();
    try {
      const { contentType, body } = await render(format);
      return { contentType, body: Buffer.from(body) };
    } finally {
      const reuseMs = Math.min(longestReuseMs, reuseFactor * (clock.monotonicMs() - startMs));
      clock.after(reuseMs, () => shared.delete(format));
    }
  }

  return (format: ScrapeFormat): Promise<ScrapeBytes> => {
    const scrape = shared.get(format) ?? begin(format);
    shared.set(format, scrape);
    return scrape;
  };
}
