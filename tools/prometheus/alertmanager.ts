import { type MonitoringServer, startMonitoringServer } from "./monitoring-server.ts";

/** What Alertmanager runs with. */
export interface AlertmanagerOptions {
  /** The program. @see resolve-assets.ts, which finds it */
  readonly binary: string;
  /** Its configuration, an object as alertmanager.yml would hold it. */
  readonly config: object;
  /** For the whole start. @default 30_000 */
  readonly readyTimeoutMs?: number;
}

const configFile = "alertmanager.yml";

/**
 * Starts an Alertmanager that is alone, not one of a cluster, and waits until it is ready.
 *
 * @throws ComponentError with the end of its log, for instance when it refuses the configuration.
 */
export async function startAlertmanager(options: AlertmanagerOptions): Promise<MonitoringServer> {
  const { binary, config, readyTimeoutMs } = options;
  return await startMonitoringServer({
    name: "alertmanager",
    binary,
    // JSON is YAML.
    files: { [configFile]: JSON.stringify(config) },
    args: (directory, port) => [
      `--config.file=${directory}/${configFile}`,
      `--storage.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Otherwise it listens for peers on every address.
      "--cluster.listen-address=",
      "--log.level=warn",
    ],
    readyTimeoutMs,
  });
}
