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

/** The operator as a process of its own: `endpoint-operator run`. */
export class OperatorProcess {
  readonly #program: RunningProgram;
  readonly #ports: { readonly metricsPort: number; readonly healthPort: number };
  readonly #scrapes: string[] = [];

  private constructor(program: RunningProgram, ports: { readonly metricsPort: number; readonly healthPort: number }) {
    this.#program = program;
    this.#ports = ports;
  }

  /**
   * Starts it and waits until it is ready.
   *
   * @param settings environment variables over those that make tests quick.
   * @param how what to start instead of the plain bundle.
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

  /** Host and port where it is scraped. */
  get metricsAddress(): string {
    return `127.0.0.1:${this.#ports.metricsPort}`;
  }

  /** How it ended; `undefined` while it runs. */
  get exit(): ProcessExit | undefined {
    return this.#program.exit();
  }

  get exited(): Promise<ProcessExit> {
    return this.#program.exited;
  }

  /** A probe as the kubelet makes it. */
  async probe(path: "/livez" | "/readyz"): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://127.0.0.1:${this.#ports.healthPort}${path}`);
    return { status: response.status, body: await response.text() };
  }

  /** The metrics page. It is kept for `scrapes`. */
  async scrape(): Promise<string> {
    const response = await fetch(`http://${this.metricsAddress}/metrics`);
    const text = await response.text();
    this.#scrapes.push(text);
    return text;
  }

  /** `kill -9`, and waits until it is gone. */
  async kill(): Promise<void> {
    await this.scrape();
    await this.#program.end("SIGKILL");
  }

  /** Asks the process to stop, as the end of a pod does. The process may go on for a while. */
  async askToStop(): Promise<void> {
    await this.scrape();
    this.#program.signal("SIGTERM");
    await this.#program.untilOutput(/"operator stopping"/);
  }

  /** Stops it as a pod is stopped. @returns how it ended */
  async stop(): Promise<ProcessExit> {
    await this.askToStop();
    return this.#program.exited;
  }

  /** Standard output and error so far. */
  output(): string {
    return this.#program.stdout() + this.#program.stderr();
  }

  /** Returns every metrics page that was read. */
  scrapes(): readonly string[] {
    return this.#scrapes;
  }
}
