/** The error for a binary that cannot be found or made. */

/** A binary for demo and tests is not available. The message says what to do, and may have several lines. */
export class AssetError extends Error {
  override readonly name = "AssetError";
}

/** Returns one line about any thrown value, for use in a message. A network error gives the system's own words. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // undici says "fetch failed" and puts the reason into the cause.
  if (error instanceof TypeError && error.cause instanceof Error) return describeError(error.cause);
  const [line = ""] = error.message.split("\n");
  // If every address of a host refused, the AggregateError has a code and no message.
  return line || ("code" in error ? String(error.code) : error.name);
}
