/** Why a binary could not be had. */
export type AssetReason =
  | "BadSetting"
  | "Unavailable"
  | "Unverified"
  | "BuildFailed"
  | "GoMissing"
  | "GoTooOld"
  | "CacheNotWritable"
  | "Locked"
  | "Interrupted";

/** A binary for demo and tests could not be found, downloaded or built. The message is for people and may span lines. */
export class AssetError extends Error {
  override readonly name = "AssetError";
  readonly reason: AssetReason;

  constructor(reason: AssetReason, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.reason = reason;
  }
}

/** One line about whatever was thrown, for use inside a message of ours; the system's own words for a network error. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // undici says "fetch failed" and keeps the reason in the cause.
  if (error instanceof TypeError && error.cause instanceof Error) return describeError(error.cause);
  const [line = ""] = error.message.split("\n");
  // An AggregateError (every address of a host refused) has a code and no message.
  return line || ("code" in error ? String(error.code) : error.name);
}
