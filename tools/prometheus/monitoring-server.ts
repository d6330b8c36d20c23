import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Component, ComponentError, startComponent, waitForComponent } from "../process/component.ts";
import { findFreePorts } from "../process/free-ports.ts";

/** One server of the Prometheus family: they share their way to be configured, started and asked whether they are ready. */
export interface MonitoringServerOptions {
  /** For messages and the log's name. */
  readonly name: string;
  readonly binary: string;
  /** Files by name in its directory, which is also where it runs; the values are their texts. */
  readonly files: Readonly<Record<string, string>>;
  /** Arguments for a directory and a port of 127.0.0.1. */
  readonly args: (directory: string, port: number) => readonly string[];
  /** For the whole start. @default 30_000 */
  readonly readyTimeoutMs?: number | undefined;
}

/** A running server on loopback. It ends when this process does, however this one ends. */
export interface MonitoringServer {
  /** `http://127.0.0.1:PORT`, without a trailing slash. */
  readonly url: string;
  /** Of its own, temporary, removed when it is stopped. */
  readonly directory: string;
  readonly pid: number;
  readLog(): Promise<string>;
  /** Replaces a file of its directory. It takes effect with `reload`. */
  writeFile(name: string, text: string): Promise<void>;
  /** Reads the configuration again. @throws Error with the server's words when it is refused */
  reload(): Promise<void>;
  /** Ends it, waits until it is gone, and removes its directory. Harmless when called again. */
  stop(): Promise<void>;
}

/** How often a start is tried with another port when one was taken in the meantime. */
const portAttempts = 4;
const defaultReadyTimeoutMs = 30_000;

/**
 * Starts a server and waits until it says that it is ready.
 *
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
  const { name, binary, args, readyTimeoutMs = defaultReadyTimeoutMs } = options;
  const url = `http://127.0.0.1:${port}`;
  const component = await startComponent({
    name,
    command: binary,
    args: args(directory, port),
    logFile: path.join(directory, `${name}.log`),
    graceMs: 5_000,
  });
  try {
    await waitForComponent(component, performance.now() + readyTimeoutMs, () => isReady(url));
    return { component, url };
  } catch (error) {
    await component.process.stop();
    throw error;
  }
}

async function isReady(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer?.ok === true;
}

async function postReload(url: string): Promise<void> {
  const answer = await fetch(`${url}/-/reload`, { method: "POST", signal: AbortSignal.timeout(10_000) });
  const words = await answer.text();
  if (!answer.ok) throw new Error(`the configuration was refused: ${words.trim()}`);
}
