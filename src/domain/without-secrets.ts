const hidden = "[redacted]";

/** Returns the forms in which a text may contain a secret, the longest first: unchanged and percent-encoded. Pure. */
export function formsOf(secret: string): readonly string[] {
  const encoded = encodeURIComponent(secret.toWellFormed());
  const strict = encoded.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  const lower = [encoded, strict].map((form) => form.replace(/%[0-9A-F]{2}/g, (sign) => sign.toLowerCase()));
  const forms = new Set([secret, encoded, strict, ...lower]);
  return [...forms].filter((form) => form !== "").sort((a, b) => b.length - a.length);
}

/** Its time grows linearly with the text, which comes from other programs. @param known see `formsOf` */
export function withoutSecrets(text: string, known: readonly string[] = []): string {
  return known
    .reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, hidden)), text)
    .replace(/\b([a-z][a-z0-9+.-]{1,20}):\/\/([^\s"'<>]*)/gi, withoutUser)
    .replace(/\bbearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`);
}

/** Turns `https://user:password@host` into `https://[redacted]@host`: all up to the last `@` may be a password. */
function withoutUser(url: string, scheme: string, rest: string): string {
  const end = rest.lastIndexOf("@");
  return end === -1 ? url : `${scheme}://${hidden}${rest.slice(end)}`;
}

/** A shorter secret could occur in any text by chance, and a tenant chooses its own secrets. */
const shortest = 8;

/** The maximum number of secrets. Keys in use are noted again every minute, so they are among the last ones. */
const mostSecrets = 1_000;

/** Remembers the secrets that were used last, so that logs and messages leave them out. */
export class RecentSecrets {
  readonly #lasting: readonly string[];
  readonly #used = new Map<string, readonly string[]>();

  /** @param lasting secrets that are never forgotten, however short */
  constructor(lasting: readonly string[] = []) {
    this.#lasting = lasting.flatMap(formsOf);
  }

  note(secret: string): void {
    if (secret.length < shortest) return;
    const forms = this.#used.get(secret) ?? formsOf(secret);
    this.#used.delete(secret);
    this.#used.set(secret, forms);
    const [oldest] = this.#used.keys();
    if (this.#used.size > mostSecrets && oldest !== undefined) this.#used.delete(oldest);
  }

  forms(): readonly string[] {
    return [...this.#lasting, ...[...this.#used.values()].flat()];
  }
}
