/** The errors of computes. */

/**
 * Computes cannot run on this machine or with these options. The message says why, and what to do. The sandbox ends
 * with exit code 2.
 */
export class ComputeSetupError extends Error {
  override readonly name = "ComputeSetupError";
}

/**
 * An operation on a compute failed. The API shows the message as the operation's error, so the message says what to do.
 */
export class ComputeError extends Error {
  override readonly name = "ComputeError";
}

/** Converts the error of a full disk into a ComputeError that says what to do. Other errors are returned unchanged. */
export function withRemedy(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ENOSPC") return error;
  return new ComputeError("the disk is full: nothing was changed; free some space, then try again", { cause: error });
}
