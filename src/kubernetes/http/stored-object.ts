/** Reads and writes what all objects of the API server have in common. */

/** Returns the metadata of an object as the API server sent it; empty if there is none. Nothing in it is checked. */
export function metadataOf(stored: unknown): Readonly<Record<string, unknown>> {
  const metadata = (stored as { readonly metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === "object" && metadata !== null ? (metadata as Readonly<Record<string, unknown>>) : {};
}

/** Formats a time as RFC 3339 with microseconds, as Leases and events require. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
