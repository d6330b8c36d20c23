/** Runs a program as a process of its own. */
import { inject } from "vitest";
import { type GuardedProcess, type ProcessExit, startGuardedProcess } from "../../tools/process/guarded-process.ts";
import { waitUntil } from "./wait-until.ts";

/** A program as its own process, and what it has written so far. */
export interface RunningProgram {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
  /** The way it ended; `undefined`: it runs. */
  exit(): ProcessExit | undefined;
  stdout(): string;
  stderr(): string;
  /** Sends a signal to the process itself and waits until it is gone. */
  end(signal: NodeJS.Signals): Promise<ProcessExit>;
  /** Sends a signal, and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /**
   * Waits until standard output contains this text.
   * @throws Error with the output when the process ends before
   */
  untilOutput(pattern: RegExp): Promise<RegExpExecArray>;
}

/** The program to run. */
export interface ProgramOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The whole environment of every program of the tests: it has no HOME, no KUBECONFIG and no proxy. With the cache, Node
 * compiles the bundle once; empty: there is none.
 */
export const bareEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env.PATH ?? "",
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? "",
};

/** Starts a process that cannot outlive the test run. */
export async function startProgram({ command, args, env }: ProgramOptions): Promise<RunningProgram> {
  const child = await startGuardedProcess({ command, args, env, graceMs: 10_000 });
  const output = collect(child);
  let exit: ProcessExit | undefined;
  void child.exited.then((ended) => {
    exit = ended;
  });
  return {
    pid: child.pid,
    exited: child.exited,
    exit: () => exit,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    signal: (signal) => void child.kill(signal),
    end(signal) {
      child.kill(signal);
      return child.exited;
    },
    untilOutput: (pattern) =>
      waitUntil(
        () => {
          const match = pattern.exec(output.stdout);
          if (match === null && exit !== undefined) {
            throw new Error(`${command} ${args.join(" ")} ended: ${JSON.stringify({ ...exit, ...output })}`);
          }
          return match ?? undefined;
        },
        { what: `${args[0]} writes ${pattern}`, lastSeen: () => output },
      ),
  };
}

/** Returns the arguments that start the bundled program with this Node. */
export function bundledProgram(...args: readonly string[]): Pick<ProgramOptions, "command" | "args"> {
  return { command: process.execPath, args: [inject("bundledProgram"), ...args] };
}

/** Returns the arguments that start the bundled operator with a file of this folder loaded before it. */
export function preloadedOperator(file: string): Pick<ProgramOptions, "command" | "args"> {
  const { command, args } = bundledProgram("run");
  return { command, args: ["--import", new URL(file, import.meta.url).href, ...args] };
}

function collect({ stdout, stderr }: GuardedProcess): { readonly stdout: string; readonly stderr: string } {
  const output = { stdout: "", stderr: "" };
  stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text;
  });
  stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text;
  });
  return output;
}
