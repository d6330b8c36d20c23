import { readFile } from "node:fs/promises";
import { type GuardedProcess, startGuardedProcess } from "../../process/guarded-process.ts";

/** One of our own programs, running as a process of its own. */
export interface Program {
  readonly name: string;
  readonly process: GuardedProcess;
  readonly logFile: string;
  /** All it has written to standard output and standard error. */
  readLog(): Promise<string>;
}

/** What to run. */
export interface ProgramOptions {
  /** For messages: "the operator". */
  readonly name: string;
  /** JavaScript file. */
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment: what the person who runs the demo has set for other operators must not reach ours. */
  readonly env: NodeJS.ProcessEnv;
  readonly logFile: string;
}

/** Starts a program under this Node. It ends with us, however we end. */
export async function startProgram({ name, file, args, env, logFile }: ProgramOptions): Promise<Program> {
  const child = await startGuardedProcess({
    command: process.execPath,
    args: [file, ...args],
    env,
    output: { file: logFile },
  });
  return { name, process: child, logFile, readLog: () => readFile(logFile, "utf8") };
}
