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
      await waitUntil(async () => (await operator.#isReady()) || undefined, {
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

  /** The way it ended; `undefined`: it runs. */
  get exit(): ProcessExit | undefined {
    return this.#program.exit();
  }

  get exited(): Promise<ProcessExit> {
    return this.#program.exited;
  }

  async #isReady(): Promise<boolean> {
    return (await fetch(`http://127.0.0.1:${this.#ports.healthPort}/readyz`)).ok;
  }

  /** Reads the metrics page, and remembers it for `scrapes`. */
  async scrape(): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.metricsPort}/metrics`);
    const text = await response.text();
    this.#scrapes.push(text);
    return text;
  }

  /** Sends `kill -9`, and waits until the process is gone. */
  async kill(): Promise<void> {
    await this.scrape();
    await this.#program.end("SIGKILL");
  }

  /**
   * Stops the process as when a pod is deleted.
   * @returns the way it ended
   */
  async stop(): Promise<ProcessExit> {
    await this.scrape();
    this.#program.signal("SIGTERM");
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
