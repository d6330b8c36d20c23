/** Makes texts of the control plane safe to show: one short line without secrets. */
import { withoutSecrets } from "../domain/without-secrets.ts";

/** The maximum number of characters in which the patterns search. */
const longestInspected = 4_000;

/**
 * The parts of a text that differ between answers, such as request ids and times. A condition message must not contain
 * them.
 */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, "[id]"],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "[time]"],
];

/** The options for cleaning a text of another program. */
export interface CleanTextOptions {
  /** Forms of secrets in use, see `formsOf`. They are removed from the text. @default [] */
  readonly secrets?: readonly string[];
  /** The maximum length of the result, in characters. @default 300 */
  readonly maxLength?: number;
}

/**
 * Cleans a text of another program for a status, an event or a log.
 * The result is one line of limited length. It contains nothing that is or looks like a key, a token, a password or a
 * connection string, and no request ids or times. The time for it grows linearly with the length of the text.
 */
export function cleanText(text: string, options: CleanTextOptions = {}): string {
  const { secrets = [], maxLength = 300 } = options;
  // Known secrets are removed before the text is cut, because half a key would not be recognised.
  const unnamed = secrets.reduce(
    (rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, "[redacted]")),
    text.toWellFormed(),
  );
  const line = cutAtWord(unnamed, 4 * longestInspected)
    .replace(/\p{Cf}/gu, "")
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  const cleaned = varying
    .reduce(
      (rest, [pattern, replacement]) => rest.replace(pattern, replacement),
      withoutSecrets(cutAtWord(line, longestInspected)),
    )
    .replace(/[\w+/=-]{32,}/g, (run) => (mayBeKey(run) ? "[redacted]" : run));
  return cleaned.length <= maxLength ? cleaned : `${cleaned.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Whether a run of characters may be a key: it is long, and has letters and digits. */
function mayBeKey(run: string): boolean {
  return /\d/.test(run) && /[a-z]/i.test(run);
}

/** Cuts a text at a word boundary, because half a secret would not be recognised. */
function cutAtWord(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  let end = length;
  while (end > 0 && !/\s/.test(text.charAt(end - 1))) {
    end -= 1;
  }
  return text.slice(0, end);
}
