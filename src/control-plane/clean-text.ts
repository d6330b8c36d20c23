import { withoutSecrets } from "../domain/without-secrets.ts";

/** Longer texts are cut before the patterns run over them, so that a hostile answer cannot cost much time. */
const longestInspected = 4_000;

/** What differs from one answer to the next, which a status message must not, and what may be a key of any make. */
const opaque: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
  [/(?=[\w+/=-]*\d)(?=[\w+/=-]*[a-z])[\w+/=-]{32,}/gi, "[redacted]"],
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
  // Before it is cut: half a key would no longer be recognised.
  const unnamed = secrets.reduce(
    (rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "[redacted]")),
    text.toWellFormed(),
  );
  const line = unnamed
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  const cleaned = opaque.reduce(
    (rest, [pattern, replacement]) => rest.replace(pattern, replacement),
    withoutSecrets(cutAtWord(line, longestInspected)),
  );
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Drops the word at the cut whole: half a secret is no longer recognised as one. */
function cutAtWord(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/\S*$/, "");
}
