/** Runs the operator that a benchmark measures. */
import { operatorPorts } from "../../demo/scene/program.ts";
import { isAnswering, waitUntil } from "../../process/wait-until.ts";
import { InspectedProcess, type ProcessUsage } from "./inspected-process.ts";

/** The settings of one operator, in addition to those of every benchmark. */
export interface OperatorSettings {
  /** The path of the bundle. */
  readonly program: string;
  /** The environment variables. */
  readonly settings: Readonly<Record<string, string>>;
  /** The folder into which Node writes a processor profile when the operator ends. @default no profile */
  readonly profileFolder?: string | undefined;
}

/** The costs of one page of metrics in the operator. */
export interface ScrapeCost {
  readonly bytes: number;
  /** The time for which the event loop of the operator was busy during the scrape. */
  readonly busyMs: number;
  /** The longest time for which the event loop did nothing else. */
  readonly longestMs: number;
  readonly tookMs: number;
}

/** An operator with default settings, as a process of its own. */
export class OperatorProcess {
  readonly process: InspectedProcess;
  /** The milliseconds from its start until `/readyz` answered 200. */
  readonly readyMs: number;
  readonly #metricsUrl: string;

  private constructor(process: InspectedProcess, readyMs: number, metricsUrl: string) {
    this.process = process;
    this.readyMs = readyMs;
    this.#metricsUrl = metricsUrl;
  }

  /** Starts the operator and waits until it is ready. */
  static async start({ program, settings, profileFolder }: OperatorSettings): Promise<OperatorProcess> {
    const startedMs = performance.now();
    const nodeFlags = profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
    const addresses = { METRICS_ADDR: "127.0.0.1:0", HEALTH_ADDR: "127.0.0.1:0" };
    const env = { ...addresses, LEADER_ELECTION: "false", ...settings };
    const process = await InspectedProcess.start({ args: [program, "run"], env, nodeFlags });
    const wait = { what: "the operator is ready", lastSeen: () => process.output() };
    const ports = await waitUntil(() => operatorPorts(process.output()), wait);
    await waitUntil(async () => (await isAnswering(`http://127.0.0.1:${ports.healthPort}/readyz`)) || undefined, wait);
    return new OperatorProcess(process, performance.now() - startedMs, `http://127.0.0.1:${ports.metricsPort}/metrics`);
  }

  usage(): Promise<ProcessUsage> {
    return this.process.usage();
  }

  /** Returns the number of finished reconciles. */
  async reconciles(): Promise<number> {
    const text = await (await fetch(this.#metricsUrl)).text();
    const counts = text.matchAll(/^controller_runtime_reconcile_total\{[^}]*\} (\d+)/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /**
   * Waits until the process is idle for a while.
   * @param leastReconciles the wait also lasts until this number of reconciles has ended, because a process that
   *   waits for slow answers looks idle too. @default 0
   * @returns the milliseconds until the idle time began
   */
  async untilQuiet(leastReconciles = 0): Promise<number> {
    const { inspector } = this.process;
    const startedMs = performance.now();
    let quietSinceMs: number | undefined;
    await inspector.evaluate("void (globalThis.benchLoop = performance.eventLoopUtilization())");
    return waitUntil(
      async () => {
        const beganMs = performance.now();
        const busy = await inspector.evaluate<number>(
          "(() => { const before = globalThis.benchLoop; globalThis.benchLoop = performance.eventLoopUtilization();" +
            " return performance.eventLoopUtilization(globalThis.benchLoop, before).utilization })()",
        );
        quietSinceMs = busy < quietUtilization ? (quietSinceMs ?? beganMs) : undefined;
        if (quietSinceMs === undefined || performance.now() - quietSinceMs < quietForMs) return undefined;
        const isDone = leastReconciles === 0 || (await this.reconciles()) >= leastReconciles;
        return isDone ? Math.max(0, quietSinceMs - startedMs) : undefined;
      },
      { what: `the operator has made ${leastReconciles} reconciles and is quiet`, pauseMs: 100 },
    );
  }

  /** Reads the page of metrics once. */
  async scrape(): Promise<ScrapeCost> {
    const { inspector } = this.process;
    await inspector.evaluate(
      'void (globalThis.benchDelay = process.getBuiltinModule("node:perf_hooks").monitorEventLoopDelay({ resolution: 1 }),' +
        " benchDelay.enable(), globalThis.benchLoop = performance.eventLoopUtilization())",
    );
    const startedMs = performance.now();
    const bytes = (await (await fetch(this.#metricsUrl)).arrayBuffer()).byteLength;
    const tookMs = performance.now() - startedMs;
    const cost = await inspector.evaluate<{ busyMs: number; longestMs: number }>(
      "(benchDelay.disable(), { busyMs: performance.eventLoopUtilization(benchLoop).active, longestMs: benchDelay.max / 1e6 })",
    );
    return { bytes, tookMs, ...cost };
  }

  async stop(): Promise<void> {
    const { code } = await this.process.stop();
    if (code !== 0) throw new Error(`the operator ended with ${code}: ${this.process.output().slice(-2_000)}`);
  }
}

const quietUtilization = 0.1;
const quietForMs = 600;
