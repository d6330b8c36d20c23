/** Runs the operator that a benchmark measures. */
import { readFile } from "node:fs/promises";
import { operatorPorts } from "../../demo/scene/program.ts";
import { isAnswering, waitUntil } from "../../process/wait-until.ts";
import { InspectedProcess, type ProcessUsage } from "./inspected-process.ts";

/** The settings of one operator, in addition to those of every benchmark. */
export interface OperatorSettings {
  /** The path of the bundle. */
  readonly program: string;
  /** The environment variables. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Returns the flags of Node with which the image starts the operator. */
async function imageFlags(): Promise<readonly string[]> {
  const file = await readFile(new URL("../../../Dockerfile", import.meta.url), "utf8");
  const [words = "[]"] = file.match(/(?<=^ENTRYPOINT ).*$/gm)?.slice(-1) ?? [];
  return (JSON.parse(words) as readonly string[]).filter((word) => word.startsWith("--"));
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
  static async start({ program, settings }: OperatorSettings): Promise<OperatorProcess> {
    const startedMs = performance.now();
    const nodeFlags = await imageFlags();
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

  async stop(): Promise<void> {
    const { code } = await this.process.stop();
    if (code !== 0) throw new Error(`the operator ended with ${code}: ${this.process.output().slice(-2_000)}`);
  }
}

const quietUtilization = 0.1;
const quietForMs = 600;
