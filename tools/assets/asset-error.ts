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

/** The first line of whatever was thrown, for use inside a message of ours; with the system's words for a network error. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error && !(error instanceof AssetError) ? `: ${describeError(error.cause)}` : "";
  const [line = error.name] = error.message.split("\n");
  return `${line}${cause}`;
}
