/** Starts an Alertmanager. */
import { type MonitoringServer, startMonitoringServer } from "./monitoring-server.ts";

/** The options of Alertmanager. */
export interface AlertmanagerOptions {
  /** The path of the program. @see resolve-assets.ts, which finds it */
  readonly binary: string;
  /** The configuration: an object with the content of alertmanager.yml. */
  readonly config: object;
}

const configFile = "alertmanager.yml";

/**
 * Starts an Alertmanager without a cluster, and waits until it is ready.
 * @throws ComponentError with the end of its log, for instance when it refuses the configuration.
 */
export async function startAlertmanager(options: AlertmanagerOptions): Promise<MonitoringServer> {
  const { binary, config } = options;
  return await startMonitoringServer({
    name: "alertmanager",
    binary,
    // JSON is also YAML.
    files: { [configFile]: JSON.stringify(config) },
    args: (directory, port) => [
      `--config.file=${directory}/${configFile}`,
      `--storage.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      // Without this flag it listens for peers on every address.
      "--cluster.listen-address=",
      "--log.level=warn",
    ],
  });
}
