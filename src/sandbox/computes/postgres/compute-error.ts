/** This machine cannot run computes. The message says why, and what to do; the sandbox ends with exit code 2. */
export class ComputeSetupError extends Error {
  override readonly name = "ComputeSetupError";
}

/** Work on a compute failed. The message becomes the error of the operation, so it says what to do. */
export class ComputeError extends Error {
  override readonly name = "ComputeError";
}
