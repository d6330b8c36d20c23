/** Parses the headers `Retry-After` and `Date`. */

/**
 * The longest delay that a `Retry-After` can cause, in milliseconds. A wrong header must not stop the operator for
 * days.
 */
const longestRetryAfterMs = 10 * 60_000;

/** The delay for a date that cannot be compared with the control plane's own clock, in milliseconds. */
const unknownDateRetryAfterMs = 60_000;

/**
 * Parses a `Retry-After` header: seconds or an HTTP date.
 * A date is compared with the `Date` header of the same answer, because the operator's clock may differ from the
 * control plane's. Without a readable `Date` header the delay is one minute.
 * @param date the `Date` header of the same answer.
 * @returns a delay of 0 to ten minutes, in milliseconds; `undefined` for a missing or unreadable header.
 * @see RFC 9110, section 10.2.3
 */
export function parseRetryAfter(header: string | undefined, date: string | undefined): number | undefined {
  const text = header?.trim() ?? "";
  const delayMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1_000 : delayUntilMs(text, date);
  return delayMs === undefined ? undefined : Math.min(Math.max(0, Math.ceil(delayMs)), longestRetryAfterMs);
}

function delayUntilMs(text: string, date: string | undefined): number | undefined {
  const untilMs = parseHttpDate(text);
  const sentMs = parseHttpDate(date);
  if (untilMs === undefined) {
    return undefined;
  }
  return sentMs === undefined ? unknownDateRetryAfterMs : untilMs - sentMs;
}

/**
 * Parses an HTTP date.
 * @returns epoch milliseconds; `undefined` for a missing or unreadable date.
 */
export function parseHttpDate(text: string | undefined): number | undefined {
  // Every form of an HTTP date begins with the name of a day. `Date.parse` alone would read "-5" as a year.
  const epochMs = /^[A-Za-z]{3,9},? /.test(text?.trim() ?? "") ? Date.parse(text ?? "") : Number.NaN;
  return Number.isNaN(epochMs) ? undefined : epochMs;
}
