/** Starts a real Prometheus. */
import { type MonitoringServer, startMonitoringServer } from "./monitoring-server.ts";

/** The options of Prometheus. */
export interface PrometheusOptions {
  /** The path of the program. @see resolve-assets.ts, which finds it */
  readonly binary: string;
  /**
   * The configuration: an object with the content of prometheus.yml. Its paths are relative to the server's directory.
   */
  readonly config: object;
  /** The texts of other files by name, for instance of rules that the configuration names. */
  readonly files?: Readonly<Record<string, string>>;
}

/** One series of an answer with its value. The labels include `__name__` if the query keeps it. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** An alert in its present state in Prometheus. */
export interface ActiveAlert {
  readonly state: "pending" | "firing";
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A target, and the result of its last scrape. */
export interface ScrapeTarget {
  readonly scrapeUrl: string;
  readonly health: "up" | "down" | "unknown";
  /** The error of the last scrape; empty if the scrape succeeded. */
  readonly lastError: string;
}

/** A real Prometheus on loopback. Its data is in a temporary directory. */
export interface Prometheus extends MonitoringServer {
  /**
   * Runs a query. @returns the present instant vector; a scalar is one sample without labels. @throws Error with
   * Prometheus's message when it refuses the query
   */
  query(expression: string): Promise<readonly Sample[]>;
  /**
   * Calls any path of its HTTP API, for instance `/api/v1/label/__name__/values`. @returns the member `data` of the
   * answer. @throws Error when the call is refused
   */
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
  const { binary, config, files = {} } = options;
  const server = await startMonitoringServer({
    name: "prometheus",
    binary,
    // JSON is also YAML.
    files: { ...files, [configFile]: JSON.stringify(config) },
    args: (directory, port) => [
      `--config.file=${directory}/${configFile}`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--web.enable-lifecycle",
      "--log.level=warn",
    ],
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
