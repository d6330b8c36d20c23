import { type MonitoringServer, startMonitoringServer } from "./monitoring-server.ts";

/** What Prometheus runs with. */
export interface PrometheusOptions {
  /** The program. @see resolve-assets.ts, which finds it */
  readonly binary: string;
  /** Its configuration, an object as prometheus.yml would hold it; paths in it are relative to its directory. */
  readonly config: object;
  /** Other files by name, such as the rules that the configuration names; the values are their texts. */
  readonly files?: Readonly<Record<string, string>>;
  /** Values of `--enable-feature`, such as `exemplar-storage`. @default none */
  readonly features?: readonly string[];
  /** For the whole start. @default 30_000 */
  readonly readyTimeoutMs?: number;
}

/** One series of an answer with its value. Labels include `__name__` where the query keeps it. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** An alert as Prometheus sees it now. */
export interface ActiveAlert {
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** What is scraped, and how the last scrape went. */
export interface ScrapeTarget {
  readonly scrapeUrl: string;
  readonly health: "up" | "down" | "unknown";
  /** Empty when the last scrape went well. */
  readonly lastError: string;
}

/** A real Prometheus on loopback, with its data in a temporary directory. */
export interface Prometheus extends MonitoringServer {
  /** The instant vector that a query gives now; a scalar is one sample without labels. @throws Error with its words when it is refused */
  query(expression: string): Promise<readonly Sample[]>;
  /** Any path of its HTTP API, `/api/v1/query_exemplars?query=…`: the member `data` of the answer. @throws Error when it is refused */
  api(path: string): Promise<unknown>;
  alerts(): Promise<readonly ActiveAlert[]>;
  targets(): Promise<readonly ScrapeTarget[]>;
}

const configFile = "prometheus.yml";

/**
 * Starts Prometheus and waits until it is ready.
 *
 * @throws ComponentError with the end of its log, for instance when it refuses the configuration.
 */
export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const { binary, config, files = {}, features = [], readyTimeoutMs } = options;
  const server = await startMonitoringServer({
    name: "prometheus",
    binary,
    // JSON is YAML.
    files: { ...files, [configFile]: JSON.stringify(config) },
    args: (directory, port) => [
      `--config.file=${directory}/${configFile}`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--web.enable-lifecycle",
      "--log.level=warn",
      ...features.map((feature) => `--enable-feature=${feature}`),
    ],
    readyTimeoutMs,
  });
  const api = (path: string) => get(`${server.url}${path}`);
  return {
    ...server,
    api,
    query: async (expression) => samplesOf(await api(`/api/v1/query?${new URLSearchParams({ query: expression })}`)),
    alerts: async () => ((await api("/api/v1/alerts")) as { readonly alerts: readonly ActiveAlert[] }).alerts,
    targets: async () => {
      const { activeTargets } = (await api("/api/v1/targets?state=active")) as {
        readonly activeTargets: readonly ScrapeTarget[];
      };
      return activeTargets;
    },
  };
}

async function get(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  const body = (await answer.json()) as { readonly status: string; readonly error?: string; readonly data?: unknown };
  if (body.status !== "success") throw new Error(`${url} answered ${answer.status}: ${body.error}`);
  return body.data;
}

type Point = readonly [seconds: number, value: string];

type QueryResult =
  | { readonly resultType: "scalar"; readonly result: Point }
  | {
      readonly resultType: "vector";
      readonly result: readonly { readonly metric: Readonly<Record<string, string>>; readonly value: Point }[];
    };

function samplesOf(data: unknown): readonly Sample[] {
  const answer = data as QueryResult;
  switch (answer.resultType) {
    case "scalar":
      return [{ labels: {}, value: numberOf(answer.result[1]) }];
    case "vector":
      return answer.result.map(({ metric, value }) => ({ labels: metric, value: numberOf(value[1]) }));
    default:
      throw new Error(`the query gives a ${(answer as { readonly resultType: string }).resultType}, not a vector`);
  }
}

/** Prometheus writes infinity as `+Inf` and `-Inf`. */
function numberOf(text: string): number {
  return Number(text.replace("Inf", "Infinity"));
}
