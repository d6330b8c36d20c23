/** Starts and stops the operator. */
import { randomUUID } from "node:crypto";
import { readClusterId, readOwnAccount } from "../kubernetes/http/cluster.ts";
import { createConnection } from "../kubernetes/http/connection.ts";
import { withWriteSpans } from "../kubernetes/http/with-write-spans.ts";
import { createScrapeAccess } from "../kubernetes/scrape-access.ts";
import { monitorEventLoop } from "../runtime/event-loop-monitor.ts";
import { startHealthServer, startMetricsServer, watchChecks } from "../telemetry/telemetry-servers.ts";
import { assembleOperator, type OperatorOptions } from "./operator-parts.ts";
import { stopOperator } from "./stop-operator.ts";

/** A running operator. */
export interface RunningOperator {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Returns the text of the metrics page, even after the operator has stopped. */
  readonly metricsPage: () => Promise<string>;
  /**
   * Resolves with the reason if the operator stops by itself; the process must then exit with an error. Never rejects.
   */
  readonly failed: Promise<string>;
  /**
   * Stops the operator within `shutdownLimitMs`. It takes no more keys, waits for reconciles in progress, and sends
   * the events. Then it closes the leader fence, releases the Lease, closes everything and sends the last traces.
   * @returns whether the reconciles ended in time.
   */
  stop(): Promise<boolean>;
}

/**
 * After this many milliseconds without bytes, watches cannot be opened at all. A healthy watch gets bytes about once a
 * minute, and ends after 70 s without any.
 */
const watchStaleAfterMs = 180_000;

/**
 * Wires the operator and starts it.
 *
 * @throws KubernetesError when the API server cannot be asked for the cluster's identity; Error when an address cannot
 * be listened on.
 */
export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const { config, clock, logger, tracer } = options;
  const identity = `${options.instance}_${randomUUID()}`;
  // With this user agent, the audit log of the API server shows which replica wrote.
  const userAgent = `endpoint-operator/${options.version} (${identity})`;
  const connect = () => createConnection({ credentials: options.credentials, clock, userAgent });
  const plainConnection = connect();
  const connection = tracer === undefined ? plainConnection : withWriteSpans(plainConnection, tracer);
  const leaseConnection = connect();
  const closeConnections = () => Promise.all([connection.close(), leaseConnection.close()]);
  try {
    const clusterId = config.clusterId ?? (await readClusterId(connection));
    const account = await readOwnAccount(options.credentials);
    const parts = assembleOperator({ ...options, connection, leaseConnection, clusterId, identity, account });
    const health = await startHealthServer({
      address: config.healthAddress,
      liveChecks: parts.liveness.checks,
      readyChecks: watchChecks(() => parts.watch.stats(), watchStaleAfterMs),
      clock,
      logger,
    });
    const metrics = await startMetricsServer({
      ...{ address: config.metricsAddress, metrics: parts.metrics, clock, logger },
      access:
        config.metricsAuth === "Token" ? createScrapeAccess({ connection: plainConnection, clock, logger }) : undefined,
    });
    const stopMonitor = monitorEventLoop({ clock, onDelay: parts.metrics.eventLoopDelayed });
    parts.start();
    const ports = { metricsPort: metrics.port, healthPort: health.port };
    logger.info(
      { clusterId, controlPlaneUrl: config.controlPlaneUrl, workers: config.workers, identity, ...ports },
      "operator started",
    );
    const close = async () => {
      stopMonitor();
      await Promise.all([parts.close(), health.close(), metrics.close()]);
      await closeConnections();
    };
    const metricsPage = async () => (await parts.metrics.render("Prometheus")).body;
    return { ...ports, metricsPage, failed: parts.failed, stop: () => stopOperator(parts, close, options) };
  } catch (error) {
    await closeConnections();
    throw error;
  }
}
