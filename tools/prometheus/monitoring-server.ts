/** Starts the servers of Prometheus and Alertmanager. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Component, ComponentError, startComponent, waitForComponent } from "../process/component.ts";
import { findFreePorts } from "../process/free-ports.ts";
import { isAnswering } from "../process/wait-until.ts";

/** The options of one server. Prometheus and Alertmanager are configured, started and checked in the same way. */
export interface MonitoringServerOptions {
  /** The name in messages and of the log. */
  readonly name: string;
  readonly binary: string;
  /** The texts of files in its directory, by file name. The server also runs in this directory. */
  readonly files: Readonly<Record<string, string>>;
  /** Returns the arguments for a directory and a port of 127.0.0.1. */
  readonly args: (directory: string, port: number) => readonly string[];
}

/** A running server on loopback. It ends when this process ends in any way. */
export interface MonitoringServer {
  /** The URL `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string;
  /** Its own temporary directory, which is removed when it stops. */
  readonly directory: string;
  readonly pid: number;
  readLog(): Promise<string>;
  /** Replaces a file of its directory. It takes effect after `reload`. */
  writeFile(name: string, text: string): Promise<void>;
  /** Reads the configuration again. @throws Error with the server's message when it refuses the configuration */
  reload(): Promise<void>;
  /** Ends the server, waits until it has ended, and removes its directory. A second call does nothing. */
  stop(): Promise<void>;
}

/** The maximum number of starts with another port, if another process has taken the port in the meantime. */
const portAttempts = 4;
/** The time limit of the whole start. */
const readyTimeoutMs = 30_000;

/**
 * Starts a server and waits until it is ready.
 * @throws ComponentError with the end of its log.
 */
export async function startMonitoringServer(options: MonitoringServerOptions): Promise<MonitoringServer> {
  const directory = await mkdtemp(path.join(tmpdir(), `endpoint-operator-${options.name}-`));
  const remove = () => rm(directory, { recursive: true, force: true, maxRetries: 5 });
  const write = async (name: string, text: string) => {
    const file = path.join(directory, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  };
  try {
    for (const [name, text] of Object.entries(options.files)) await write(name, text);
    const { component, url } = await startOnFreePort(options, directory);
    return {
      url,
      directory,
      pid: component.process.pid,
      readLog: component.readLog,
      writeFile: write,
      reload: () => postReload(url),
      stop: async () => {
        await component.process.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startOnFreePort(
  options: MonitoringServerOptions,
  directory: string,
): Promise<{ readonly component: Component; readonly url: string }> {
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0] = await findFreePorts(1);
    try {
      return await startOn(port, options, directory);
    } catch (error) {
      if (!(error instanceof ComponentError && error.isPortTaken && attempt < portAttempts)) throw error;
    }
  }
}

async function startOn(port: number, options: MonitoringServerOptions, directory: string) {
  const { name, binary, args } = options;
  const url = `http://127.0.0.1:${port}`;
  const component = await startComponent({
    name,
    command: binary,
    args: args(directory, port),
    logFile: path.join(directory, `${name}.log`),
    graceMs: 5_000,
  });
  try {
    await waitForComponent(component, performance.now() + readyTimeoutMs, () => isAnswering(`${url}/-/ready`));
    return { component, url };
  } catch (error) {
    await component.process.stop();
    throw error;
  }
}

async function postReload(url: string): Promise<void> {
  const answer = await fetch(`${url}/-/reload`, { method: "POST", signal: AbortSignal.timeout(10_000) });
  const words = await answer.text();
  if (!answer.ok) throw new Error(`the configuration was refused: ${words.trim()}`);
}
