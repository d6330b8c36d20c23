/** Halves of a shorter one might stand in a text by chance. */
const shortestHalved = 20;

/**
 * Every text by which a secret would be recognised: as it is, escaped for a URL or for JSON, in Base64 wherever in the encoded
 * bytes it stands, and each half of it, because a text may have been cut.
 *
 * @param secret at least 8 characters.
 */
export function formsOf(secret: string): readonly string[] {
  const middle = Math.floor(secret.length / 2);
  const halves = secret.length >= shortestHalved ? [secret.slice(0, middle), secret.slice(middle)] : [];
  const escaped = [encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return [...new Set([secret, ...halves, ...escaped, ...base64FormsOf(secret)])];
}

/** What follows from the secret alone, for each of the three places where it may begin within a group of three bytes. */
function base64FormsOf(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    // Characters that also hold bits of what stands before or after are not the secret's own.
    const from = Math.ceil((before * 8) / 6);
    const to = Math.floor((bytes.length * 8) / 6);
    return [bytes.toString("base64"), bytes.toString("base64url")].map((text) => text.slice(from, to));
  });
}
