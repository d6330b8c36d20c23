/** Runs the operator and the sandbox in the demo. */
import { readFile } from "node:fs/promises";
import { type GuardedProcess, startGuardedProcess } from "../../process/guarded-process.ts";

/** A program of this repository, running as a process of its own. */
export interface Program {
  readonly name: string;
  readonly process: GuardedProcess;
  readonly logFile: string;
  /** Returns everything that it has written to standard output and standard error. */
  readLog(): Promise<string>;
}

/** The program to run. */
export interface ProgramOptions {
  /** The name for messages: "the operator". */
  readonly name: string;
  /** The path of the JavaScript file. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment. The user's settings for other operators must not reach ours. */
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/**
 * How long a program may take to end, in milliseconds. At its end, the sandbox removes the thousands of files of its
 * databases. On a busy machine that takes seconds, and a killed sandbox would leave the rest.
 */
const graceMs = 60_000;

/** Starts a program with this Node. It ends when this process ends in any way. */
export async function startProgram({ name, file, args, env, logFile }: ProgramOptions): Promise<Program> {
  const child = await startGuardedProcess({
    command: process.execPath,
    args: [file, ...args],
    env,
    output: { file: logFile },
    graceMs,
  });
  return { name, process: child, logFile, readLog: () => readFile(logFile, "utf8") };
}

/** Returns the ports that an operator has logged; `undefined`: it has not logged them yet. */
export function operatorPorts(log: string): { readonly metricsPort: string; readonly healthPort: string } | undefined {
  const metricsPort = /"metricsPort":(\d+)/.exec(log)?.[1];
  const healthPort = /"healthPort":(\d+)/.exec(log)?.[1];
  return metricsPort === undefined || healthPort === undefined ? undefined : { metricsPort, healthPort };
}
