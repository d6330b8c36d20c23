/** Writes the metrics as text in the formats of Prometheus and OpenMetrics. */
import { setImmediate as otherWork } from "node:timers/promises";
import { type MetricObjectWithValues, type MetricValue, Registry } from "prom-client";
import type { Clock } from "../domain/clock.ts";
import type { MetricsRegistry } from "./metrics-registry.ts";

/** The text of one scrape. */
export interface Scrape {
  readonly contentType: string;
  readonly body: string;
}

/** What differs between the two text formats. */
interface Dialect {
  readonly contentType: string;
  /** Returns the name in the head of a metric. OpenMetrics leaves out the suffix that each sample of a counter has. */
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

/** The exemplar that prom-client keeps for a bucket; its types do not declare it. */
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
  // Bounds have a decimal point, as Prometheus 3 writes them in both formats.
  renderBound: (bound) => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound)),
  escapeHelp: escapeText,
  renderExemplar: ({ labelSet, value, timestamp }) =>
    ` # {${renderPairs(labelSet, String)}} ${renderNumber(value)} ${timestamp}`,
  separator: "",
  end: "# EOF\n",
};

const dialects: Readonly<Record<ScrapeFormat, Dialect>> = { Prometheus: prometheusText, OpenMetrics: openMetricsText };

/**
 * Renders the whole registry as one scrape, in either format. prom-client itself can write only one format for a
 * registry. Its OpenMetrics output removes `_total` from the names of counters permanently, and writes bounds and
 * quotes in a wrong form.
 */
export async function renderScrape(
  registry: Pick<MetricsRegistry, "getMetricsAsJSON">,
  format: ScrapeFormat,
): Promise<Scrape> {
  const dialect = dialects[format];
  // Gauges of resources and histograms show this moment. A counter shows its value when its line is written, so it may
  // be newer.
  const metrics = await registry.getMetricsAsJSON();
  const families: string[] = [];
  for (const metric of metrics) {
    families.push(await renderFamily(metric, dialect));
  }
  return { contentType: dialect.contentType, body: families.join(dialect.separator) + dialect.end };
}

/** After this many samples other work of the process runs, because there are thousands of samples. */
const samplesInARow = 1_000;

async function renderFamily(metric: Metric, dialect: Dialect): Promise<string> {
  const family = dialect.familyOf(metric);
  // All lines are added to one string, because there are thousands of samples.
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

/** Renders the labels of a sample. @param renderBound renders the one label that prom-client holds as a number */
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

/** The maximum number of media ranges that are read from the header. */
const maxRanges = 32;

/**
 * Chooses the format by the Accept header: OpenMetrics if the header names a supported version and does not prefer
 * plain text. A browser, curl or an empty header gets plain text.
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

/** What the shared scrape needs. */
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
 * A rendered scrape is reused for twice the time that rendering took. So scrapes use at most a third of the processor.
 */
const reuseFactor = 2;
const longestReuseMs = 1_000;

/**
 * Makes a function that renders the metrics once for all requests that come at the same time.
 * It keeps the bytes while a request may still share them: one copy for each format, however many requests send them.
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
