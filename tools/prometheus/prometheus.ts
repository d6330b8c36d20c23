/** Starts a real Prometheus, and a real Alertmanager. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Component, onFreePorts, startComponent, waitForComponent } from "../process/component.ts";
import { isAnswering } from "../process/wait-until.ts";

/** The options of one server. */
export interface ServerOptions {
  /** The path of the program. @see resolve-assets.ts, which finds it */
  readonly binary: string;
  /** The content of prometheus.yml or alertmanager.yml. Its paths are relative to the server's directory. */
  readonly config: object;
  /** The texts of other files by name, for instance of rules that the configuration names. */
  readonly files?: Readonly<Record<string, string>>;
}

/** A running server on loopback. It ends when this process ends in any way. */
export interface MonitoringServer {
  /** The URL `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string;
  /** Ends the server, waits until it has ended, and removes its directory. A second call does nothing. */
  stop(): Promise<void>;
}

/** Starts Prometheus and waits until it is ready. @throws ComponentError, for instance about a wrong configuration */
export async function startPrometheus(options: ServerOptions): Promise<MonitoringServer> {
  return await startServer("prometheus", options, (directory) => [
    `--config.file=${directory}/prometheus.yml`,
    `--storage.tsdb.path=${directory}/data`,
    "--log.level=warn",
  ]);
}

/** Starts an Alertmanager without a cluster, and waits until it is ready. @throws ComponentError */
export async function startAlertmanager(options: ServerOptions): Promise<MonitoringServer> {
  return await startServer("alertmanager", options, (directory) => [
    `--config.file=${directory}/alertmanager.yml`,
    `--storage.path=${directory}/data`,
    // Without this flag it listens for peers on every address.
    "--cluster.listen-address=",
    "--log.level=warn",
  ]);
}

/** The time limit of a start. */
const readyTimeoutMs = 30_000;

async function startServer(
  name: "prometheus" | "alertmanager",
  { binary, config, files = {} }: ServerOptions,
  argsIn: (directory: string) => readonly string[],
): Promise<MonitoringServer> {
  const directory = await mkdtemp(path.join(tmpdir(), `endpoint-operator-${name}-`));
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 });
  // JSON is also YAML.
  const all = { ...files, [`${name}.yml`]: JSON.stringify(config) };
  const start = async ([port]: readonly number[]) => {
    const url = `http://127.0.0.1:${port}`;
    const args = [...argsIn(directory), `--web.listen-address=127.0.0.1:${port}`];
    const logFile = path.join(directory, `${name}.log`);
    const component = await startComponent({ name, command: binary, args, logFile, graceMs: 5_000 });
    await untilReady(component, url);
    return { component, url };
  };
  try {
    for (const [file, text] of Object.entries(all)) await writeFile(path.join(directory, file), text);
    const { component, url } = await onFreePorts(1, start);
    return {
      url,
      async stop() {
        await component.process.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function untilReady(component: Component, url: string): Promise<void> {
  try {
    await waitForComponent(component, performance.now() + readyTimeoutMs, () => isAnswering(`${url}/-/ready`));
  } catch (error) {
    await component.process.stop();
    throw error;
  }
}
