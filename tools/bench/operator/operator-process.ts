/** Runs the operator that a benchmark measures. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { type RunningOperator, startOperator } from "../../process/programs.ts";
import { waitUntil } from "../../process/wait-until.ts";
import type { Population } from "./population.ts";
import { apiKey, type SandboxServer } from "./sandbox-server.ts";
import type { BenchWorld } from "./world.ts";

export interface Stage {
  readonly world: BenchWorld;
  readonly sandbox: SandboxServer;
  readonly population: Population;
  /** Further environment variables of the operator. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface ProcessUsage {
  /** User and system time of all threads. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

/** Reads what a process has used so far from proc(5), so the benchmark runs on Linux only. */
export async function usageOf(pid: number): Promise<ProcessUsage> {
  // The name stands in brackets and may hold spaces. After it, fields 14 and 15 are times in hundredths of a second.
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]?.split(" ") ?? [];
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, "utf8")) ?? [];
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, peakRssBytes: Number(kibibytes) * 1024 };
}

/** Returns the flags of Node and the environment with which the image starts the operator. */
async function imageStart() {
  const file = await readFile(new URL("../../../Dockerfile", import.meta.url), "utf8");
  const [words = "[]"] = file.match(/(?<=^ENTRYPOINT ).*$/gm)?.slice(-1) ?? [];
  const nodeFlags = (JSON.parse(words) as readonly string[]).filter((word) => word.startsWith("--"));
  const variables = [...file.matchAll(/^ENV (\w+)=(\S+)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  return { nodeFlags, environment: Object.fromEntries(variables) };
}

/** An idle process uses less than this share of a processor for this time. */
const idle = { share: 0.1, forMs: 600 } as const;

/** An operator with default settings and without leader election, as a process of its own. */
export class OperatorProcess {
  readonly #operator: RunningOperator;

  private constructor(operator: RunningOperator) {
    this.#operator = operator;
  }

  /** Starts an operator for one population, and waits until it is ready. */
  static async start({ world, sandbox, population, settings }: Stage): Promise<OperatorProcess> {
    const { nodeFlags, environment } = await imageStart();
    const operator = await startOperator({
      program: world.program,
      nodeFlags,
      settings: {
        ...environment,
        LEADER_ELECTION: "false",
        CONTROL_PLANE_URL: `${sandbox.origin}/api/v2`,
        CONTROL_PLANE_API_KEY: apiKey,
        KUBECONFIG: world.operatorKubeconfig,
        WATCH_NAMESPACES: population.namespace,
        ...settings,
      },
      logFile: path.join(world.folder, `operator-${performance.now()}.log`),
    });
    return new OperatorProcess(operator);
  }

  usage(): Promise<ProcessUsage> {
    return usageOf(this.#operator.component.process.pid);
  }

  /** Returns the sum of all series of a metric. */
  async metric(name: string): Promise<number> {
    const page = await (await fetch(this.#operator.metricsUrl)).text();
    const values = page.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"));
    return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  reconciles(): Promise<number> {
    return this.metric("controller_runtime_reconcile_total");
  }

  /**
   * Waits until the process is idle for a while and has made some reconciles, because a process that waits for slow
   * answers looks idle too.
   */
  async untilQuiet(leastReconciles: number): Promise<void> {
    let since = { ms: performance.now(), cpuMs: (await this.usage()).cpuMs };
    const isQuiet = async () => {
      const now = { ms: performance.now(), cpuMs: (await this.usage()).cpuMs };
      if (now.cpuMs - since.cpuMs > idle.share * idle.forMs) since = now;
      return (now.ms - since.ms >= idle.forMs && (await this.reconciles()) >= leastReconciles) || undefined;
    };
    await waitUntil(isQuiet, {
      what: `the operator has made ${leastReconciles} reconciles and is quiet`,
      pauseMs: 100,
    });
  }

  async stop(): Promise<void> {
    const { component } = this.#operator;
    const { code } = await component.process.stop();
    if (code !== 0) throw await component.failure(`the operator ended with ${code}`);
  }
}
