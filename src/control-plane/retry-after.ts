/** A service that asks for more is asked again after this: a wrong header must not silence us for days. */
const longestRetryAfterMs = 10 * 60_000;

/**
 * Reads a `Retry-After` header: seconds or an HTTP date.
 *
 * @param nowMs epoch milliseconds, for a date.
 * @returns milliseconds from now, 0 to ten minutes; `undefined` for a missing or unreadable header.
 * @see RFC 9110, section 10.2.3
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? "";
  if (text === "") {
    return undefined;
  }
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : dateMs(text) - nowMs;
  return Number.isNaN(delayMs) ? undefined : Math.min(Math.max(0, Math.ceil(delayMs)), longestRetryAfterMs);
}

/** `Date.parse` takes a bare "-5" for a year; every form of an HTTP date begins with the name of a day. */
function dateMs(text: string): number {
  return /^[A-Za-z]{3,9},? /.test(text) ? Date.parse(text) : Number.NaN;
}
