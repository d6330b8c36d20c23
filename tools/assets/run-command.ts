/** Runs a command to its end. */
import { startGuardedProcess } from "../process/guarded-process.ts";

/** The command to run. */
export interface CommandOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the command, and everything that it started, early. */
  readonly signal?: AbortSignal | undefined;
}

/** The number of lines of its output that an error quotes. */
const quotedLines = 15;

/** A command ended with a code other than 0. The message quotes its last lines. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}

/** Returns `undefined` for a failed command. Any other error is thrown again. */
export function undefinedIfFailed(error: unknown): undefined {
  if (!(error instanceof CommandError)) throw error;
  return undefined;
}

/**
 * Runs a command and returns its standard output.
 * The command never outlives this process (see `startGuardedProcess`).
 * @throws CommandError when it fails or is interrupted; Error when it cannot be started.
 */
export async function runCommand(options: CommandOptions): Promise<string> {
  const { command, args, cwd, env, signal } = options;
  const child = await startGuardedProcess({
    command,
    args,
    graceMs: 2_000,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
  });
  let stdout = "";
  let all = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    all += chunk;
  });
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
    all += chunk;
  });
  const stop = () => void child.stop();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  const exit = await child.exited;
  signal?.removeEventListener("abort", stop);
  if (exit.code === 0) return stdout;
  const how = exit.signal === null ? `ended with code ${exit.code}` : `was ended by ${exit.signal}`;
  const tail = all.trimEnd().split("\n").slice(-quotedLines).join("\n  ");
  throw new CommandError(`${command} ${how}${tail === "" ? "" : `:\n  ${tail}`}`);
}
