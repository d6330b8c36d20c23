/** The errors of computes. */

/** This machine cannot run computes. The message says why, and what to do; the sandbox ends with exit code 2. */
export class ComputeSetupError extends Error {
  override readonly name = "ComputeSetupError";
}

/** Work on a compute failed. The message becomes the error of the operation, so it says what to do. */
export class ComputeError extends Error {
  override readonly name = "ComputeError";
}

/** Returns the error of a full disk with what to do; other errors are returned unchanged. */
export function withRemedy(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== "ENOSPC") return error;
  return new ComputeError("the disk is full: nothing was changed; free some space, then try again", { cause: error });
}
