/** Starts the operator and the sandbox from the bundle that is shipped. */
import { type Component, startComponent, waitForComponent } from "./component.ts";
import { isAnswering } from "./wait-until.ts";

/** How to start a program of the bundle. */
export interface ProgramOptions {
  /** The path of the bundle. */
  readonly program: string;
  /** The arguments after `run` or `sandbox`. @default none */
  readonly args?: readonly string[];
  /** Flags for Node. @default none */
  readonly nodeFlags?: readonly string[];
  /** The environment beside PATH, HOME and TMPDIR. The user's settings for other operators must not reach ours. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly logFile: string;
}

/** A sandbox that listens. */
export interface RunningSandbox {
  readonly component: Component;
  /** Its URL without a path. */
  readonly origin: string;
  /** What it has written until it listened. */
  readonly log: string;
}

/** An operator that is ready. */
export interface RunningOperator {
  readonly component: Component;
  /** The URL of its metrics page. */
  readonly metricsUrl: string;
}

const readyTimeoutMs = 120_000;

/**
 * How long a program may take to end. At its end, the sandbox removes the thousands of files of its databases. On a busy
 * machine that takes seconds, and a killed sandbox would leave the rest.
 */
const graceMs = 60_000;

/** Starts a sandbox and waits until it listens. @throws ComponentError with the end of its log */
export async function startSandbox(options: ProgramOptions): Promise<RunningSandbox> {
  const component = await startProgram("sandbox", "sandbox", options);
  const log = await untilLog(component, /listening on http\S+\n/);
  const [, origin = ""] = /listening on (http:\/\/[^/\s]+)/.exec(log) ?? [];
  return { component, origin, log };
}

/** Starts an operator on free ports and waits until it is ready. @throws ComponentError with the end of its log */
export async function startOperator(options: ProgramOptions): Promise<RunningOperator> {
  const settings = { ...options.settings, METRICS_ADDR: "127.0.0.1:0", HEALTH_ADDR: "127.0.0.1:0" };
  const component = await startProgram("operator", "run", { ...options, settings });
  const log = await untilLog(component, /"healthPort":\d+/);
  const [metricsPort, healthPort] = ["metricsPort", "healthPort"].map((name) => log.match(`"${name}":(\\d+)`)?.[1]);
  await untilReady(component, () => isAnswering(`http://127.0.0.1:${healthPort}/readyz`));
  return { component, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` };
}

function startProgram(name: string, command: string, options: ProgramOptions): Promise<Component> {
  const { program, args = [], nodeFlags = [], settings, logFile } = options;
  const { PATH, HOME, TMPDIR } = process.env;
  return startComponent({
    name,
    command: process.execPath,
    args: [...nodeFlags, program, command, ...args],
    env: { PATH, HOME, TMPDIR, ...settings },
    logFile,
    graceMs,
  });
}

async function untilLog(component: Component, pattern: RegExp): Promise<string> {
  let log = "";
  await untilReady(component, async () => {
    log = await component.readLog();
    return pattern.test(log);
  });
  return log;
}

async function untilReady(component: Component, isReady: () => Promise<boolean>): Promise<void> {
  try {
    await waitForComponent(component, performance.now() + readyTimeoutMs, isReady);
  } catch (error) {
    await component.process.stop();
    throw error;
  }
}
