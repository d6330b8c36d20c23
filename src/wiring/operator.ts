import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { Config } from "../config.ts";
import { RecentSecrets } from "../domain/without-secrets.ts";
import { createConnection, withWriteSpans } from "../kubernetes/http/connection.ts";
import { loadCredentialSource, loaderOf, readOwnAccount } from "../kubernetes/http/credentials.ts";
import { readClusterId } from "../kubernetes/http/objects.ts";
import { createScrapeAccess } from "../kubernetes/scrape-access.ts";
import { findKindGaps } from "../kubernetes/served-kinds.ts";
import { monitorEventLoop } from "../runtime/event-loop-monitor.ts";
import { endOnUnhandledErrors, type ShutdownStep, shutDown } from "../runtime/shutdown.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { createPinoLogger } from "../telemetry/pino-logger.ts";
import { queueChecks, startHealthServer, startMetricsServer, watchChecks } from "../telemetry/telemetry-servers.ts";
import type { OperatorOptions } from "./operator-options.ts";
import { OperatorParts } from "./operator-parts.ts";

export interface RunningOperator {
  readonly metricsPort: number;
  readonly healthPort: number;
  /** Returns the text of the metrics page, even after the operator has stopped. */
  readonly metricsPage: () => Promise<string>;
  /** Resolves if the operator stops by itself; the process must then exit with an error. Never rejects. */
  readonly failed: Promise<string>;
  /** Within `shutdownLimitMs`. @returns whether the reconciles ended in time */
  stop(): Promise<boolean>;
}

/** A watch gets bytes about once a minute, and is opened again after 70 s without: then no new watch can be opened. */
const watchStaleAfterMs = 180_000;

/** @throws KubernetesError when the cluster's identity cannot be read; Error when an address cannot be listened on */
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
    const gaps = await findKindGaps({ connection, logger, namespaces: config.watchNamespaces });
    const parts = new OperatorParts({ ...options, connection, leaseConnection, clusterId, identity, account, gaps });
    const health = await startHealthServer({
      address: config.healthAddress,
      liveChecks: queueChecks(parts.queueStats),
      readyChecks: watchChecks(() => parts.endpoints.stats(), watchStaleAfterMs),
      clock,
      logger,
    });
    const metrics = await startMetricsServer({
      address: config.metricsAddress,
      metrics: parts.metrics,
      clock,
      logger,
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
    return {
      ...ports,
      metricsPage: parts.metrics.render,
      failed: parts.failed,
      stop: () => stopOperator(parts, close, options),
    };
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
  parts: Pick<OperatorParts, "stopWork" | "events" | "fence" | "leadership">,
  close: () => Promise<unknown>,
  { clock, logger, flushTraces }: Pick<OperatorOptions, "clock" | "logger" | "flushTraces">,
): Promise<boolean> {
  const { passesMs, eventsMs, leaseMs, closeMs, tracesMs } = shutdownLimits;
  const steps: readonly ShutdownStep[] = [
    { name: "passes", limitMs: passesMs, run: () => parts.stopWork(passesMs) },
    { name: "events", limitMs: eventsMs, run: () => parts.events.flush(eventsMs) },
    { name: "fence", limitMs: 0, run: async () => parts.fence.close() },
    {
      name: "lease",
      limitMs: leaseMs,
      // Work in progress needs the Lease until it ends, so the operator releases the Lease early only if no work is left.
      run: (unfinished) => (unfinished.length > 0 ? parts.leadership.stop() : parts.leadership.release(leaseMs)),
    },
    { name: "close", limitMs: closeMs, run: close },
    ...(flushTraces === undefined ? [] : [{ name: "traces", limitMs: tracesMs, run: flushTraces }]),
  ];
  const unfinished = await shutDown(steps, { clock, logger });
  const isInTime = !unfinished.includes("passes");
  logger.info({ isInTime, unfinished }, "operator stopped");
  return isInTime;
}

export interface ProcessParts {
  readonly version: string;
  readonly instance: string;
  /** Returns an AbortSignal. It is aborted when the process is asked to end, by the first SIGTERM or SIGINT. */
  readonly stopOnSignal: () => AbortSignal;
  /** Ends the process at once, after an error that nothing has caught. */
  readonly exit: () => void;
}

/** @returns false if it ended by itself, as after a lost Lease, or if the reconciles did not end in time */
export async function runOperator(config: Config, parts: ProcessParts): Promise<boolean> {
  const { version, instance, stopOnSignal, exit } = parts;
  const clock = systemClock;
  // The key of a file is added when it is read. A key of the settings is there from the start, because an error may
  // contain it before its first use.
  const keys = new RecentSecrets(config.apiKey.kind === "Value" ? [config.apiKey.value] : []);
  const logger = createPinoLogger({ level: config.logLevel, knownSecrets: () => keys.forms() });
  endOnUnhandledErrors(logger, exit);
  const stop = stopOnSignal();
  const { tracesEndpoint: endpoint } = config;
  const tracing =
    endpoint === undefined
      ? undefined
      : (await import("../tracing/start-tracing.ts")).startTracing({ endpoint, logger, clock, instance, version });
  const credentials = loadCredentialSource(loaderOf(config.kubeconfig));
  const own = { clock, logger, credentials, version, random: Math.random };
  const operator = await startOperator({
    config,
    tracer: tracing?.tracer,
    flushTraces: tracing?.shutDown,
    ...own,
    instance,
    onKey: (key) => keys.note(key),
    databaseAuthority: config.databaseCaFile === undefined ? undefined : await readFile(config.databaseCaFile, "utf8"),
  });
  const stopped = stop.aborted ? undefined : once(stop, "abort").then(() => undefined);
  const failure = await Promise.race([stopped, operator.failed]);
  if (failure !== undefined) {
    // Another replica may be the leader by now, so this process ends at once.
    logger.error({ reason: failure }, "the process ends and must be started again");
    return false;
  }
  logger.info({}, "operator stopping");
  return await operator.stop();
}
