import { KubernetesError } from "../domain/resource-store.ts";

/** A wish beyond this would leave a cache stale for as long as whoever stands in between likes. */
const longestMs = 60_000;

/**
 * How long the API server asks a caller to wait before the next attempt.
 *
 * @param error of an answer, or one that an answer or an ERROR event has caused.
 * @returns milliseconds, at most a minute; 0 when it does not ask.
 */
export function askedPauseMs(error: unknown): number {
  const source = error instanceof Error && !(error instanceof KubernetesError) ? error.cause : error;
  const askedMs = source instanceof KubernetesError ? (source.retryAfterMs ?? 0) : 0;
  return Math.min(askedMs, longestMs);
}
