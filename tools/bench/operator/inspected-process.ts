/** Runs a Node process and measures its processor time and memory. */
import { type GuardedProcess, type ProcessExit, startGuardedProcess } from "../../process/guarded-process.ts";
import { Inspector } from "./inspector.ts";

/** The resources that a process has used since its start. */
export interface ProcessUsage {
  /** User and system time of all threads. */
  readonly cpuMs: number;
  readonly peakRssBytes: number;
}

/** The options of an inspected process. */
export interface InspectedOptions {
  /** The JavaScript or TypeScript file, and its arguments. */
  readonly args: readonly string[];
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Flags for Node. @default none */
  readonly nodeFlags?: readonly string[];
}

/** After this many characters of output, only the last ones are kept. */
const keptCharacters = 65_536;

/** A Node process whose processor time and memory the benchmark reads through the inspector. */
export class InspectedProcess {
  readonly inspector: Inspector;
  readonly exited: Promise<ProcessExit>;
  readonly #child: GuardedProcess;
  readonly #output: () => string;

  private constructor(child: GuardedProcess, inspector: Inspector, output: () => string) {
    this.#child = child;
    this.inspector = inspector;
    this.exited = child.exited;
    this.#output = output;
  }

  /** Starts the process. @throws Error with its output when it ends before it can be inspected */
  static async start({ args, env, nodeFlags = [] }: InspectedOptions): Promise<InspectedProcess> {
    const child = await startGuardedProcess({
      command: process.execPath,
      args: ["--inspect=127.0.0.1:0", ...nodeFlags, ...args],
      env,
      graceMs: 30_000,
    });
    const output = { stdout: "", stderr: "" };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        const head = output[name].slice(0, keptCharacters);
        output[name] = head + (output[name].slice(keptCharacters) + text).slice(-keptCharacters);
        const [, url] = /Debugger listening on (\S+)/.exec(output.stderr) ?? [];
        if (url !== undefined) resolve(url);
      });
    }
    void child.exited.then((exit) => reject(new Error(`ended: ${JSON.stringify({ ...exit, ...output })}`)));
    const inspector = await Inspector.connect(await promise);
    return new InspectedProcess(child, inspector, () => output.stdout + output.stderr);
  }

  /** Returns the beginning and the end of its output. */
  output(): string {
    return this.#output();
  }

  async usage(): Promise<ProcessUsage> {
    const used = await this.inspector.evaluate<{ userCPUTime: number; systemCPUTime: number; maxRSS: number }>(
      "process.resourceUsage()",
    );
    return { cpuMs: (used.userCPUTime + used.systemCPUTime) / 1000, peakRssBytes: used.maxRSS * 1024 };
  }

  /** Ends the process with SIGTERM and waits until it has ended. */
  stop(): Promise<ProcessExit> {
    this.inspector.close();
    return this.#child.stop();
  }
}
