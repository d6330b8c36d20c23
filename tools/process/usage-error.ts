/** The error for a wrong command line. */

/** The command line is wrong. The message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Whether an error is about the command line: our own error, or one of `parseArgs`. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}
