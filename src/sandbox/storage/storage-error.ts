/**
 * Why state on disk cannot be used. `InUse`: by another process. `Foreign`: the file is not ours. `Newer`: written by a
 * later version. `Damaged`. `Mismatch`: made with other settings. `CannotOpen`, `CannotWrite`: the system says no.
 */
export type StorageReason = "InUse" | "Foreign" | "Newer" | "Damaged" | "Mismatch" | "CannotOpen" | "CannotWrite";

/** State on disk that cannot be used; the message names the file, what is wrong and what to do. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly reason: StorageReason;

  constructor(reason: StorageReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
