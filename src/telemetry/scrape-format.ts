/** The two formats of `/metrics`. Only OpenMetrics contains exemplars. */
export type ScrapeFormat = "Prometheus" | "OpenMetrics";

interface MediaRange {
  readonly type: string;
  readonly version: string | undefined;
  /** 0 up to 1; 0: not wanted. */
  readonly quality: number;
}

/** The maximum number of media ranges that are read. */
const maxRanges = 32;

/**
 * Chooses the format by the Accept header: OpenMetrics if the header names a supported version of it, and does not prefer
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
