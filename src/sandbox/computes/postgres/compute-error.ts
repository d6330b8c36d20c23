/** The errors of computes. */

/** The message says why, and what to do. The sandbox ends with exit code 2. */
export class ComputeSetupError extends Error {
  override readonly name = "ComputeSetupError";
}

/** The API shows the message as the operation's error, so the message says what to do. */
export class ComputeError extends Error {
  override readonly name = "ComputeError";
}

export function withRemedy(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ENOSPC") return error;
  return new ComputeError("the disk is full: nothing was changed; free some space, then try again", { cause: error });
}
