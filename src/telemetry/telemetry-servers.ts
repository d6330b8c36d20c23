import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import type { ScrapeAccess, ScrapeDecision, WatchStats } from "../domain/resource-store.ts";
import type { WorkQueueStats } from "../domain/worker.ts";
import type { Metrics } from "./metrics.ts";

interface HttpAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

interface ServerOptions {
  /** The address to listen on. Port 0: the system chooses a port. */
  readonly address: { readonly host: string; readonly port: number };
  readonly clock: Clock;
  readonly logger: Logger;
}

interface HttpListenerOptions extends ServerOptions {
  /** The name of the setting that has the address, for error messages. */
  readonly setting: string;
  /** By their exact path, whatever the method. Each gets the Authorization header; "" if there is none. */
  readonly routes: Readonly<Record<string, (authorization: string) => HttpAnswer | Promise<HttpAnswer>>>;
}

export interface HttpListener {
  readonly port: number;
  /** Closes every connection, also during an answer. Never rejects. */
  close(): Promise<void>;
}

const requestTimeoutMs = 5_000;

/** The time limit for a client to read the whole answer, in milliseconds. Then the server closes the connection. */
const writeTimeoutMs = 10_000;

/** Enough for a few Prometheus servers, probes and people. Each connection may hold a whole scrape in memory. */
const maxConnections = 32;

/** @throws Error that names the setting and the address, when the server cannot listen there */
async function startHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const server = createServer(
    {
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 8_192,
    },
    (request, response) => void answer(request, options).then((result) => send(response, result, options.clock)),
  );
  server.maxConnections = maxConnections;
  const { host, port } = options.address;
  try {
    await once(server.listen(port, host), "listening");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "failed";
    throw new Error(`cannot listen on ${options.setting} ${host}:${port}: ${reason}`, { cause: error });
  }
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<unknown>((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

async function answer(request: IncomingMessage, options: HttpListenerOptions): Promise<HttpAnswer> {
  const { url = "", headers } = request;
  const path = url.split("?")[0] ?? "";
  const route = Object.hasOwn(options.routes, path) ? options.routes[path] : undefined;
  if (route === undefined) {
    return plainText(404, "not found\n");
  }
  try {
    return await route(headers.authorization ?? "");
  } catch (error) {
    options.logger.error({ path, error }, "a probe or scrape got no answer");
    return plainText(500, "failed; the log says why\n");
  }
}

function send(response: ServerResponse, { status, contentType, body, headers }: HttpAnswer, clock: Clock): void {
  const deadline = clock.after(writeTimeoutMs, () => response.destroy());
  response.once("close", () => deadline.cancel());
  const length = Buffer.byteLength(body);
  response.writeHead(status, { "content-type": contentType, "content-length": length, ...headers });
  response.end(body);
}

function plainText(status: number, body: string): HttpAnswer {
  return { status, contentType: "text/plain; charset=utf-8", body };
}

/** @throws Error that names HEALTH_ADDR when the server cannot listen there */
export function startHealthServer({
  liveChecks,
  readyChecks,
  ...server
}: ServerOptions & {
  readonly liveChecks: readonly HealthCheck[];
  readonly readyChecks: readonly HealthCheck[];
}): Promise<HttpListener> {
  const routes = { "/livez": () => answerHealth(liveChecks), "/readyz": () => answerHealth(readyChecks) };
  return startHttpListener({ ...server, setting: "HEALTH_ADDR", routes });
}

const scrapeType = "text/plain; version=0.0.4; charset=utf-8";

/** @throws Error that names METRICS_ADDR when the server cannot listen there */
export function startMetricsServer({
  metrics,
  access = async () => "Allowed",
  ...server
}: ServerOptions & {
  readonly metrics: Pick<Metrics, "render">;
  /** Decides whether a scrape is allowed. @default every scrape is allowed */
  readonly access?: ScrapeAccess | undefined;
}): Promise<HttpListener> {
  /** Scrapes at the same time share one text and its bytes. */
  let current: Promise<Buffer> | undefined;
  const scrape = async () => {
    current ??= metrics.render().then((text) => Buffer.from(text));
    try {
      return await current;
    } finally {
      current = undefined;
    }
  };
  const answerScrape = async (authorization: string) => {
    const decision = await access(authorization);
    return decision === "Allowed"
      ? { status: 200, contentType: scrapeType, body: await scrape() }
      : refusedScrapes[decision];
  };
  return startHttpListener({ ...server, setting: "METRICS_ADDR", routes: { "/metrics": answerScrape } });
}

const refusedScrapes: Readonly<Record<Exclude<ScrapeDecision, "Allowed">, HttpAnswer>> = {
  Unauthenticated: {
    ...plainText(401, "send a bearer token that the Kubernetes API server accepts\n"),
    headers: { "www-authenticate": "Bearer" },
  },
  Forbidden: plainText(
    403,
    "the user of this token may not get /metrics; bind a role with the nonResourceURL /metrics\n",
  ),
  Unknown: plainText(503, "the Kubernetes API server did not say whether this token may get /metrics\n"),
};

export interface HealthCheck {
  readonly name: string;
  readonly problem: () => string | undefined;
}

export function answerHealth(checks: readonly HealthCheck[]): HttpAnswer {
  const results = checks.map(({ name, problem }) => ({ name, problem: problem() }));
  const isWell = results.every((result) => result.problem === undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `ok ${name}` : `failed ${name}: ${problem}`,
  );
  return plainText(isWell ? 200 : 503, [...lines, isWell ? "ok" : "not ok", ""].join("\n"));
}

/** A reconcile that takes this many seconds hangs, because every call within it has a time limit. */
const longestReconcileSeconds = 600;

/** Only a restart would help. */
export function queueChecks(stats: () => Pick<WorkQueueStats, "longestRunningSeconds">): readonly HealthCheck[] {
  const problem = `a reconcile has been running for more than ${longestReconcileSeconds} s`;
  const isHanging = () => stats().longestRunningSeconds > longestReconcileSeconds;
  return [{ name: "work-queue", problem: () => (isHanging() ? problem : undefined) }];
}

/** A watch that has not received any byte yet passes the second check. */
export function watchChecks(
  stats: () => Pick<WatchStats, "hasSynced" | "silentForMs" | "unlistedNamespaces">,
  staleAfterMs: number,
): readonly HealthCheck[] {
  return [
    {
      name: "cache-synced",
      problem: () => (stats().hasSynced ? undefined : notListed(stats().unlistedNamespaces)),
    },
    {
      name: "watch-fresh",
      problem: () =>
        (stats().silentForMs ?? 0) > staleAfterMs
          ? `no data from the API server for more than ${staleAfterMs / 1_000} s`
          : undefined,
    },
  ];
}

function notListed(namespaces: readonly string[]): string {
  const some = namespaces.slice(0, 10).join(", ");
  const where = some === "" ? "" : ` in ${some}${namespaces.length > 10 ? ", …" : ""}`;
  return `the first list of ComputeEndpoints is not complete yet${where}`;
}
