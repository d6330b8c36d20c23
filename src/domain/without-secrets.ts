/**
 * Removes secrets from texts, by rules and by the secrets that are in use.
 *
 * The text comes from other programs and may be long, so the time of each rule must grow linearly with it. A rule
 * matches a whole run of characters once and looks inside it. It does not try every start within the run.
 */
import type { Clock } from "./clock.ts";

const hidden = "[redacted]";

/** A rule that removes one kind of secret from a text. */
type Rule = (text: string) => string;

const quoted = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const secretNames =
  "(?:pg)?password|passwd|passphrase|pwd|secret|credentials?|(?:access[_ -]?)?token|api[_ -]?key|authorization";

/** The one rule that can find a secret in a single word. */
const withoutWordOfKey: Rule = replacing(/\b(?:napi|npg|sk|ghp|gho)[_-][\w-]{6,}/gi, hidden);

/** A single word, like the names and ids in log lines. */
const singleWord = /^[\w-]*$/;

/** The rules in the order in which they apply: a whole connection string is removed before the password inside it. */
const rules: readonly Rule[] = [
  replacing(/\b(postgres(?:ql)?):\/\/[^\s"'<>]+/gi, `$1://${hidden}`),
  withoutUserOfUrl,
  replacing(/\bbearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`),
  replacing(/\bbasic\s+[a-z0-9+/=]{12,}/gi, `Basic ${hidden}`),
  replacing(
    new RegExp(
      String.raw`\b(${secretNames})\b(["']?\s*(?:=>?|:|%3D)\s*)(?!Bearer \[|Basic \[)(${quoted}|[^\s,;&})]+)`,
      "gi",
    ),
    `$1$2${hidden}`,
  ),
  replacing(new RegExp(String.raw`\b(password|passwd|secret|token|key)\s+(?:is\s+)?(${quoted})`, "gi"), `$1 ${hidden}`),
  withoutUserOfAddress,
  withoutPasswordOfLine,
  withoutJsonWebToken,
  withoutWordOfKey,
];

/** The least length of a base64 form of a secret that is removed. A shorter one could occur in any text by chance. */
const shortestPart = 8;

/**
 * Returns the forms in which a text may contain a secret, the longest first: unchanged, in a URL, in JSON and in
 * base64. In base64, the secret may be part of a longer text, so its form depends on its position there. Pure.
 */
export function formsOf(secret: string): readonly string[] {
  const whole = secret.toWellFormed();
  const inUrl = encodeURIComponent(whole);
  const strict = inUrl.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const lower = [inUrl, strict].map((form) => form.replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase()));
  const parts = [0, 1, 2].map((offset) => base64Part(whole, offset)).filter((part) => part.length >= shortestPart);
  const ofUrl = parts.map((part) => part.replaceAll("+", "-").replaceAll("/", "_"));
  const forms = [secret, inUrl, strict, ...lower, JSON.stringify(whole).slice(1, -1), ...parts, ...ofUrl];
  return [...new Set(forms)].filter((form) => form !== "").sort((a, b) => b.length - a.length);
}

/** Returns the base64 characters that depend on the text alone, if `offset` bytes stand before it (modulo three). */
function base64Part(text: string, offset: number): string {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
  const [first, end] = [Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6)];
  return bytes.toString("base64").slice(first, end);
}

/**
 * Removes connection strings, passwords, bearer tokens and API keys from a text, and also the values in `known`.
 * When in doubt, it removes more. Its time grows linearly with the length of the text.
 * @param known forms of secrets in use, see `formsOf`; empty ones are ignored.
 */
export function withoutSecrets(text: string, known: readonly string[] = []): string {
  const unnamed = known.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, hidden)), text);
  return singleWord.test(unnamed) ? withoutWordOfKey(unnamed) : rules.reduce((rest, rule) => rule(rest), unnamed);
}

function replacing(pattern: RegExp, replacement: string): Rule {
  return (text) => text.replace(pattern, replacement);
}

/**
 * Turns `https://user:password@host` into `https://[redacted]@host`: it removes everything up to the last `@` before a
 * blank.
 */
function withoutUserOfUrl(text: string): string {
  return text.replace(/\b([a-z][a-z0-9+.-]{1,20}):\/\/([^\s"'<>]*)/gi, (url, scheme: string, rest: string) => {
    const end = rest.lastIndexOf("@");
    return end === -1 ? url : `${scheme}://${hidden}${rest.slice(end)}`;
  });
}

/** Turns `user:password@host.example` into `[redacted]@host.example`. */
function withoutUserOfAddress(text: string): string {
  const parts = text.split("@");
  return parts
    .map((part, index) => {
      const isBeforeHost = /^[\w-]+\.\w/.test(parts[index + 1] ?? "");
      const word = isBeforeHost ? lastWordOf(part) : "";
      return /^[^:[]+:[^[]+$/.test(word) ? `${part.slice(0, part.length - word.length)}${hidden}` : part;
    })
    .join("@");
}

/** Turns a line of a password file, `host:5432:database:user:password`, into `host:5432:database:user:[redacted]`. */
function withoutPasswordOfLine(text: string): string {
  return text.replace(/[^\s"'<>]+/g, (word) => {
    const parts = word.split(":");
    const isLine = parts.length >= 5 && /^(?:\d{1,5}|\*)$/.test(parts[1] ?? "");
    return isLine ? [...parts.slice(0, 4), hidden].join(":") : word;
  });
}

/** Returns the characters after the last blank, quote, slash or angle bracket. */
function lastWordOf(text: string): string {
  let start = text.length;
  while (start > 0 && !/[\s/"'<>]/.test(text.charAt(start - 1))) {
    start -= 1;
  }
  return text.slice(start);
}

/** Turns a JSON Web Token, `eyJ….eyJ….…`, into `[redacted]`. */
function withoutJsonWebToken(text: string): string {
  return text.replace(/(?<![\w-])[\w-]+(?:\.[\w-]+)+/g, (run) => {
    const start = run.search(/\beyJ[\w-]{5}/);
    return start !== -1 && run.indexOf(".", start) !== -1 ? `${run.slice(0, start)}${hidden}` : run;
  });
}

/**
 * A secret that was not in use for this time, in milliseconds, is forgotten. Keys in use are read again every minute.
 */
const rememberedMs = 3_600_000;

/**
 * The least length of a secret that is removed. A shorter one could occur in any text by chance, and a tenant chooses
 * its own secrets.
 */
const shortest = 8;

/**
 * The maximum number of characters of all forms. The secrets that were used longest ago are forgotten first. A tenant
 * may store one key after the other. Keys in use stay, because they are noted again every minute.
 */
const mostCharacters = 4_000_000;

/** Remembers the secrets that were in use recently, so that logs and messages leave them out. */
export class RecentSecrets {
  readonly #clock: Clock;
  readonly #lasting: readonly string[];
  /** The secrets with their forms, and when each one was used last, in monotonic milliseconds; the oldest one first. */
  readonly #used = new Map<string, { readonly forms: readonly string[]; readonly atMs: number }>();
  #characters = 0;

  /** @param lasting secrets that are never forgotten, however short */
  constructor(clock: Clock, lasting: readonly string[] = []) {
    this.#clock = clock;
    this.#lasting = lasting.flatMap(formsOf);
  }

  /**
   * Notes that the secret is in use now, unless it is shorter than `shortest`. Forgets the secrets that have not been
   * in use for an hour.
   */
  note(secret: string): void {
    const atMs = this.#clock.monotonicMs();
    const known = this.#used.get(secret);
    this.#forget(secret);
    if (secret.length >= shortest) {
      const forms = known?.forms ?? formsOf(secret);
      this.#used.set(secret, { forms, atMs });
      this.#characters += lengthOf(forms);
    }
    for (const [former, used] of this.#used) {
      if (atMs - used.atMs < rememberedMs && this.#characters <= mostCharacters) {
        return;
      }
      this.#forget(former);
    }
  }

  #forget(secret: string): void {
    const known = this.#used.get(secret);
    if (known !== undefined) {
      this.#used.delete(secret);
      this.#characters -= lengthOf(known.forms);
    }
  }

  /** Returns all forms of the secrets. */
  forms(): readonly string[] {
    return [...this.#lasting, ...[...this.#used.values()].flatMap(({ forms }) => forms)];
  }
}

function lengthOf(forms: readonly string[]): number {
  return forms.reduce((sum, { length }) => sum + length, 0);
}
