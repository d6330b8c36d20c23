/** The forms in which a secret may appear in a text. */

/** A shorter secret is not halved, because its halves may appear in a text by chance. */
const shortestHalved = 20;

/**
 * Returns every form of a secret: unchanged, escaped for a URL or for JSON, and in Base64 at any position. Each half
 * of these is a form too, because a text may have been cut.
 * @param secret at least 8 characters.
 */
export function formsOf(secret: string): readonly string[] {
  const middle = Math.floor(secret.length / 2);
  const halves = secret.length >= shortestHalved ? [secret.slice(0, middle), secret.slice(middle)] : [];
  const escaped = [encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return [...new Set([secret, ...halves, ...escaped, ...base64FormsOf(secret)])];
}

/**
 * Returns the Base64 characters that depend only on the secret, for each of its three possible positions in a group of
 * three bytes.
 */
function base64FormsOf(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // The first and last characters also depend on the bytes before and after, so they are left out.
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((bytes.length * 8) / 6);
    return [bytes.toString("base64"), bytes.toString("base64url")].map((text) => text.slice(from, to));
  });
}
