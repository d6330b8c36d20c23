import { randomUUID } from "node:crypto";
import { readClusterId } from "./kubernetes/http/cluster.ts";
import { createConnection } from "./kubernetes/http/connection.ts";
import { withWriteSpans } from "./kubernetes/http/with-write-spans.ts";
import { assembleOperator, type OperatorOptions, type OperatorParts } from "./operator-parts.ts";
import { createEventLoopMonitor } from "./runtime/event-loop-monitor.ts";
import { shutDown } from "./runtime/shutdown.ts";
import { watchChecks } from "./telemetry/health-checks.ts";
import { startHealthServer, startMetricsServer } from "./telemetry/telemetry-servers.ts";

/** An operator that runs. */
export interface RunningOperator {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** The metrics page; also after it has stopped, when nobody can ask for it over HTTP any more. */
  readonly metricsPage: () => Promise<string>;
  /** Settles when it must not go on: everything has been stopped, and the process has to end as failed. Never rejects. */
  readonly failed: Promise<string>;
  /**
   * Stops taking keys, lets running passes end, sends the events, closes the gate for effects, hands over the lease,
   * closes everything and sends the last traces, all within `shutdownLimitMs`. Answers whether the passes ended in time.
   */
  stop(): Promise<boolean>;
}

/** A watch is heard about once a minute and gives itself up after 70 s; nothing for so long means that it cannot be had. */
const watchStaleAfterMs = 180_000;

const shutdownLimits = { passesMs: 20_000, eventsMs: 2_000, leaseMs: 4_000, closeMs: 5_000, tracesMs: 2_000 };

/** A stop takes no longer, in milliseconds; the pod's grace period is longer. */
export const shutdownLimitMs: number = Object.values(shutdownLimits).reduce((sum, limitMs) => sum + limitMs, 0);

/**
 * Wires the operator and starts it.
 *
 * @throws KubernetesError when the API server cannot be asked for the cluster's identity; Error when an address cannot
 * be listened on.
 */
export async function startOperator(options: OperatorOptions): Promise<RunningOperator> {
  const { config, clock, logger, tracer } = options;
  const identity = `${options.instance}_${randomUUID()}`;
  // The API server's audit log then says which replica wrote.
  const userAgent = `endpoint-operator/${options.version} (${identity})`;
  const connect = () => createConnection({ credentials: options.credentials, clock, userAgent });
  const plainConnection = connect();
  const connection = tracer === undefined ? plainConnection : withWriteSpans(plainConnection, tracer);
  const leaseConnection = connect();
  const closeConnections = () => Promise.all([connection.close(), leaseConnection.close()]);
  try {
    const clusterId = config.clusterId ?? (await readClusterId(connection));
    const parts = assembleOperator({ ...options, connection, leaseConnection, clusterId, identity });
    const health = await startHealthServer({
      address: config.healthAddress,
      liveChecks: parts.liveness.checks,
      readyChecks: watchChecks(() => parts.watch.stats(), watchStaleAfterMs),
      clock,
      logger,
    });
    const metrics = await startMetricsServer({ address: config.metricsAddress, metrics: parts.metrics, clock, logger });
    const eventLoop = createEventLoopMonitor({ clock, onDelay: parts.metrics.ofProcess.eventLoopDelayed });
    eventLoop.start();
    parts.start();
    const ports = { metricsPort: metrics.port, healthPort: health.port };
    logger.info(
      { clusterId, controlPlaneUrl: config.controlPlaneUrl, workers: config.workers, identity, ...ports },
      "operator started",
    );
    const close = async () => {
      eventLoop.stop();
      await Promise.all([parts.close(), health.close(), metrics.close()]);
      await closeConnections();
    };
    const metricsPage = async () => (await parts.metrics.render("Prometheus")).body;
    return { ...ports, metricsPage, failed: parts.failed, stop: () => stop(parts, close, options) };
  } catch (error) {
    await closeConnections();
    throw error;
  }
}

async function stop(
  parts: OperatorParts,
  close: () => Promise<unknown>,
  { clock, logger, flushTraces }: OperatorOptions,
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
  // What is still under way must find the lease ours when it lands: then nobody is let in early.
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
