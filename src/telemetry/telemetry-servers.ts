import type { Clock } from "../domain/clock.ts";
import type { Logger } from "../domain/logger.ts";
import { answerHealth, type HealthCheck } from "./health-checks.ts";
import { type HttpListener, type HttpRequest, startHttpListener } from "./http-listener.ts";
import type { Metrics } from "./metrics.ts";
import { scrapeFormatFor } from "./scrape-format.ts";
import { createSharedScrape } from "./shared-scrape.ts";

type Address = { readonly host: string; readonly port: number };

/** Two scrapers for each of a few Prometheus servers, and people. Each connection may hold a whole scrape unsent. */
const maxScrapers = 32;

/** `/livez` and `/readyz`. */
export interface HealthServerOptions {
  /** HEALTH_ADDR. */
  readonly address: Address;
  /** Problems that a restart would solve. @default none: an answer is enough */
  readonly liveChecks?: readonly HealthCheck[];
  readonly readyChecks: readonly HealthCheck[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** `/metrics`. */
export interface MetricsServerOptions {
  /** METRICS_ADDR. */
  readonly address: Address;
  readonly metrics: Pick<Metrics, "render">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @throws Error that names HEALTH_ADDR when it cannot be listened on. */
export function startHealthServer(options: HealthServerOptions): Promise<HttpListener> {
  const { address, liveChecks = [], readyChecks, clock, logger } = options;
  const routes = {
    "/livez": async () => answerHealth(liveChecks),
    "/readyz": async () => answerHealth(readyChecks),
  };
  return startHttpListener({ setting: "HEALTH_ADDR", address, routes, clock, logger });
}

/** @throws Error that names METRICS_ADDR when it cannot be listened on. */
export function startMetricsServer(options: MetricsServerOptions): Promise<HttpListener> {
  const { address, metrics, clock, logger } = options;
  const scrape = createSharedScrape({ clock, render: metrics.render });
  const routes = {
    "/metrics": async ({ accept }: HttpRequest) => ({ status: 200, ...(await scrape(scrapeFormatFor(accept))) }),
  };
  return startHttpListener({ setting: "METRICS_ADDR", address, routes, maxConnections: maxScrapers, clock, logger });
}
