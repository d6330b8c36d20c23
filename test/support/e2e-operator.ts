/** Runs the operator as a process of its own. */
import type { ProcessExit } from "../../tools/process/guarded-process.ts";
import {
  bareEnvironment,
  bundledProgram,
  type ProgramOptions,
  type RunningProgram,
  startProgram,
} from "./e2e-program.ts";
import { quickSettings } from "./quick-settings.ts";
import { waitUntil } from "./wait-until.ts";

const testSettings = { ...quickSettings, OPERATION_POLL_SECONDS: "0.2" };

/** An operator as its own process: `endpoint-operator run`. */
export class OperatorProcess {
  readonly #program: RunningProgram;
  readonly #ports: { readonly metricsPort: number; readonly healthPort: number };
  readonly #scrapes: string[] = [];

  private constructor(program: RunningProgram, ports: { readonly metricsPort: number; readonly healthPort: number }) {
    this.#program = program;
    this.#ports = ports;
  }

  /**
   * Starts an operator and waits until it is ready.
   * @param settings environment variables that replace those for quick tests.
   * @param how what to start instead of the plain bundle
   */
  static async start(
    settings: Readonly<Record<string, string>>,
    how: Pick<ProgramOptions, "command" | "args"> = bundledProgram("run"),
  ): Promise<OperatorProcess> {
    const program = await startProgram({ ...how, env: { ...bareEnvironment, ...testSettings, ...settings } });
    try {
      const [line] = await program.untilOutput(/^\{.*"operator started".*\}$/m);
      const operator = new OperatorProcess(program, JSON.parse(line));
      await waitUntil(async () => ((await operator.probe("/readyz")).status === 200 ? true : undefined), {
        what: "the operator is ready",
        lastSeen: () => operator.output(),
      });
      return operator;
    } catch (error) {
      await program.end("SIGKILL");
      throw error;
    }
  }

  get pid(): number {
    return this.#program.pid;
  }

  /** The host and port of its metrics. */
  get metricsAddress(): string {
    return `127.0.0.1:${this.#ports.metricsPort}`;
  }

  /** The way it ended; `undefined`: it runs. */
  get exit(): ProcessExit | undefined {
    return this.#program.exit();
  }

  get exited(): Promise<ProcessExit> {
    return this.#program.exited;
  }

  /** Sends a probe like the kubelet. */
  async probe(path: "/livez" | "/readyz"): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.healthPort}${path}`);
    return { status: response.status, body: await response.text() };
  }

  /** Reads the metrics page, and remembers it for `scrapes`. */
  async scrape(): Promise<string> {
    const response = await fetch(`http://${this.metricsAddress}/metrics`);
    const text = await response.text();
    this.#scrapes.push(text);
    return text;
  }

  /** Sends `kill -9`, and waits until the process is gone. */
  async kill(): Promise<void> {
    await this.scrape();
    await this.#program.end("SIGKILL");
  }

  /** Asks the process to stop, as when a pod is deleted. The process may go on for a while. */
  async askToStop(): Promise<void> {
    await this.scrape();
    this.#program.signal("SIGTERM");
    await this.#program.untilOutput(/"operator stopping"/);
  }

  /**
   * Stops the process as when a pod is deleted.
   * @returns the way it ended
   */
  async stop(): Promise<ProcessExit> {
    await this.askToStop();
    return this.#program.exited;
  }

  /** Standard output and standard error so far. */
  output(): string {
    return this.#program.stdout() + this.#program.stderr();
  }

  /** Returns every metrics page that was read. */
  scrapes(): readonly string[] {
    return this.#scrapes;
  }
}
