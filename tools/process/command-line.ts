/** Runs the command lines of the tools. */

/** The command line is wrong. The message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Whether an error is about the command line: our own error, or one of `parseArgs`. */
function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}

interface Tool {
  /** The text for `--help`, and after a wrong command line. */
  readonly usage: string;
  /**
   * Does the work, and returns the exit code.
   * @param signal aborted when the user or the system asks the tool to end
   */
  readonly main: (args: readonly string[], signal: AbortSignal) => Promise<number>;
  /** The errors of which only the message is printed, because it says what to do. @default none */
  readonly expected?: readonly (abstract new (
    ...of: never[]
  ) => Error)[];
}

/**
 * Runs a tool with the arguments of this process. Its exit code after an error is 2 if the command line is wrong, 130 if
 * the tool was asked to end, else 1.
 */
export async function runTool({ usage, main, expected = [] }: Tool): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    console.log(usage);
    return;
  }
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => interruption.abort());
  try {
    process.exitCode = await main(args, interruption.signal);
  } catch (error) {
    const isWrongUse = isUsageError(error);
    const isExplained = isWrongUse || expected.some((type) => error instanceof type);
    console.error(isExplained ? (error as Error).message : error);
    if (isWrongUse) console.error(`\n${usage}`);
    process.exitCode = isWrongUse ? 2 : interruption.signal.aborted ? 130 : 1;
  }
}
