/** Finds many secrets in a text. */
import { formsOf } from "./secret-forms.ts";

/** The number of characters by which a form is looked up. No form is shorter. */
const keyLength = 8;
const buckets = 1 << 16;

/** Returns the secrets that a text contains, in any form. */
export type FindSecrets = (text: string) => ReadonlySet<string>;

/**
 * Makes a function that looks for all secrets in one pass over the text. One search for each secret would take too
 * long.
 * @throws Error when a secret is so short that it may be an ordinary word.
 */
export function createSecretFinder(secrets: Iterable<string>): FindSecrets {
  const formsByKey = new Map<string, { readonly form: string; readonly secret: string }[]>();
  /** Whether any form begins with characters of this bucket. Most positions of a text need no further check. */
  const isUsed = new Uint8Array(buckets);
  for (const secret of secrets) {
    for (const form of formsOf(secret)) {
      const key = form.slice(0, keyLength);
      if (key.length < keyLength)
        throw new Error(`a secret of ${secret.length} characters is too short to be searched`);
      formsByKey.set(key, [...(formsByKey.get(key) ?? []), { form, secret }]);
      isUsed[bucketAt(key, 0)] = 1;
    }
  }
  return (text) => {
    const found = new Set<string>();
    for (let at = 0; at + keyLength <= text.length; at += 1) {
      if (isUsed[bucketAt(text, at)] === 1) {
        const candidates = formsByKey.get(text.slice(at, at + keyLength)) ?? [];
        for (const { form, secret } of candidates) if (text.startsWith(form, at)) found.add(secret);
      }
    }
    return found;
  };
}

function bucketAt(text: string, at: number): number {
  const first = text.charCodeAt(at) * 31 + text.charCodeAt(at + 1);
  const middle = text.charCodeAt(at + 3) * 31 + text.charCodeAt(at + 5);
  return (first * 1_009 + middle * 31 + text.charCodeAt(at + 7)) % buckets;
}
