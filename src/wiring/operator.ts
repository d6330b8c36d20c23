/** Starts and stops the operator. */
import { randomUUID } from "node:crypto";
import { createConnection } from "../kubernetes/http/connection.ts";
import { readOwnAccount } from "../kubernetes/http/credentials.ts";
import { readClusterId } from "../kubernetes/http/objects.ts";
import { withWriteSpans } from "../kubernetes/http/with-write-spans.ts";
import { createScrapeAccess } from "../kubernetes/scrape-access.ts";
import { monitorEventLoop } from "../runtime/liveness-watchdog.ts";
import { shutDown } from "../runtime/shutdown.ts";
import { startHealthServer, startMetricsServer, watchChecks } from "../telemetry/telemetry-servers.ts";
import { assembleOperator, type OperatorOptions, type OperatorParts } from "./operator-parts.ts";

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

const shutdownLimits = { passesMs: 20_000, eventsMs: 2_000, leaseMs: 4_000, closeMs: 5_000, tracesMs: 2_000 };

/** The longest time that a stop takes, in milliseconds. The pod's grace period is longer. */
export const shutdownLimitMs: number = Object.values(shutdownLimits).reduce((sum, limitMs) => sum + limitMs, 0);

/** Stops a running operator in steps. @returns whether the reconciles ended in time. */
export async function stopOperator(
  parts: Pick<OperatorParts, "stopWork" | "events" | "gate" | "leadership">,
  close: () => Promise<unknown>,
  { clock, logger, flushTraces }: Pick<OperatorOptions, "clock" | "logger" | "flushTraces">,
): Promise<boolean> {
  const { passesMs, eventsMs, leaseMs, closeMs, tracesMs } = shutdownLimits;
  let isInTime = false;
  let isQuiet = false;
  const passes = async () => {
    isInTime = await parts.stopWork(passesMs);
    return isInTime;
  };
  const events = async () => {
    const isFlushed = await parts.events.flush(eventsMs);
    isQuiet = isInTime && isFlushed;
    return isFlushed;
  };
  const closeGate = async () => parts.gate.close();
  // Work in progress needs the Lease until it ends, so the operator releases the Lease early only if no work is left.
  const handOver = () => (isQuiet ? parts.leadership.release(leaseMs) : parts.leadership.stop());
  const steps = [
    { name: "passes", limitMs: passesMs, run: passes },
    { name: "events", limitMs: eventsMs, run: events },
    { name: "gate", limitMs: 0, run: closeGate },
    { name: "lease", limitMs: leaseMs, run: handOver },
    { name: "close", limitMs: closeMs, run: close },
    ...(flushTraces === undefined ? [] : [{ name: "traces", limitMs: tracesMs, run: flushTraces }]),
  ];
  const unfinished = await shutDown(steps, { clock, logger });
  logger.info({ isInTime, unfinished }, "operator stopped");
  return isInTime;
}
