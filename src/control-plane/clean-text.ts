const redacted = "[redacted]";

/** Longer texts are cut before the patterns run over them, so that a hostile answer cannot cost much time. */
const longestInspected = 4_000;

/** What a secret looks like when we do not know it. Order matters: the wider frames come first. */
const secretPatterns: readonly (readonly [RegExp, string])[] = [
  [/\bpostgres(?:ql)?:\/\/[^\s"'<>]+/gi, redacted],
  [/\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>]*@[^\s"'<>]*/gi, redacted],
  [/\bbearer\s+[^\s"',;]{6,}/gi, `Bearer ${redacted}`],
  [/\bbasic\s+[a-z0-9+/=]{12,}/gi, `Basic ${redacted}`],
  [
    /\b((?:pg)?password|passwd|pwd|secret|token|api[_ -]?key|authorization)\b(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,;&})]+)/gi,
    `$1$2${redacted}`,
  ],
  [/\b(password|passwd|secret|token|key)\s+(?:is\s+)?("[^"]*"|'[^']*')/gi, `$1 ${redacted}`],
  [/\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?/g, redacted],
  [/\b(?:napi|npg|sk|ghp|gho)[_-][\w-]{6,}/gi, redacted],
  // An id of a request or an operation differs on every pass; a status message must not.
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
  [/(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{32,}/gi, redacted],
];

/** How a text from outside may be shown. */
export interface CleanTextOptions {
  /** Secrets known to be in use; removed wherever they occur. @default [] */
  readonly secrets?: readonly string[];
  /** Characters. @default 300 */
  readonly maxLength?: number;
}

/**
 * Makes a text from outside fit to be shown in a status, an event or a log: one line, bounded, without anything that
 * is or looks like a key, a token, a password or a connection string, and without what differs from one answer to the
 * next (request ids, times).
 */
export function cleanText(text: string, options: CleanTextOptions = {}): string {
  const { secrets = [], maxLength = 300 } = options;
  let cleaned = text.toWellFormed();
  for (const secret of secrets) {
    cleaned = secret === "" ? cleaned : cleaned.replaceAll(secret, redacted);
  }
  cleaned = cutAtWord(
    cleaned
      .replace(/\p{Cf}/gu, "")
      .replace(/[\p{Cc}\s]+/gu, " ")
      .trim(),
    longestInspected,
  );
  for (const [pattern, replacement] of secretPatterns) {
    cleaned = cleaned.replace(pattern, replacement);
  }
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Drops the word at the cut whole: half a secret is no longer recognised as one. */
function cutAtWord(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/\S*$/, "");
}
