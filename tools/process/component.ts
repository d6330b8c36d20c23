/** Starts server processes and waits until they are ready. */
import { readFile, stat } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { findFreePorts } from "./free-ports.ts";
import { type GuardedProcess, startGuardedProcess } from "./guarded-process.ts";

/** The number of lines of its log that an error quotes. */
const quotedLines = 12;

/** A server process did not start, or ended by itself. The message quotes the end of its log. */
export class ComponentError extends Error {
  override readonly name = "ComponentError";
  /** True: another process has taken a port, so a start with other ports may succeed. */
  readonly isPortTaken: boolean;

  constructor(message: string, logTail: string) {
    super(`${message}\n${logTail}`);
    this.isPortTaken = /address already in use|failed to listen/i.test(logTail);
  }
}

/** A running server process. */
export interface Component {
  readonly name: string;
  readonly process: GuardedProcess;
  readonly logFile: string;
  /** Returns what it has written since this start. */
  readLog(): Promise<string>;
  /** Makes an error with this message and the end of its log. */
  failure(message: string): Promise<ComponentError>;
}

/** Starts a process. Its output is appended to `logFile`. */
export async function startComponent(options: {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. @default the environment of this process */
  readonly env?: NodeJS.ProcessEnv;
  readonly logFile: string;
  readonly graceMs: number;
}): Promise<Component> {
  const { name, logFile, ...command } = options;
  const logStart = await stat(logFile).then(
    (entry) => entry.size,
    () => 0,
  );
  const child = await startGuardedProcess({ ...command, output: { file: logFile } });
  const readLog = async () => (await readFile(logFile)).subarray(logStart).toString("utf8");
  return {
    name,
    process: child,
    logFile,
    readLog,
    failure: async (message) => {
      const lines = (await readLog()).trimEnd().split("\n").slice(-quotedLines);
      const tail = lines.map((line) => `  ${line.slice(0, 400)}`).join("\n");
      return new ComponentError(message, `Last lines of ${logFile}:\n${tail}`);
    },
  };
}

/** The maximum number of starts with other ports, if another process has taken a port in the meantime. */
const portAttempts = 4;

/** Starts something on free ports of 127.0.0.1. @param first the ports of the first attempt. @default free ones */
export async function onFreePorts<Started>(
  count: number,
  start: (ports: readonly number[]) => Promise<Started>,
  first?: readonly number[],
): Promise<Started> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(attempt === 1 && first !== undefined ? first : await findFreePorts(count));
    } catch (error) {
      if (!(error instanceof ComponentError && error.isPortTaken && attempt < portAttempts)) throw error;
    }
  }
}

/**
 * Waits until `isReady` returns true.
 * @throws ComponentError when the process ends before, or at the deadline.
 */
export async function waitForComponent(
  component: Component,
  deadlineMs: number,
  isReady: () => Promise<boolean>,
): Promise<void> {
  let hasEnded = false;
  const ended = component.process.exited.then(() => {
    hasEnded = true;
  });
  while (true) {
    if (hasEnded) throw await component.failure(`${component.name} ended while it was starting.`);
    if (await isReady()) return;
    if (performance.now() > deadlineMs) throw await component.failure(`${component.name} was not ready in time.`);
    await Promise.race([delay(25), ended]);
  }
}
