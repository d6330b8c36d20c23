/** A command line that makes no sense; the message says why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Whether a command line was mistyped: our own complaint, or that of `parseArgs`. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
}
