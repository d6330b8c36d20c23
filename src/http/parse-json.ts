/**
 * Reads a body as JSON in UTF-8.
 *
 * @returns the value in a box (JSON may well be `null`), or `undefined` when the body is not JSON in UTF-8.
 */
export function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
