const hidden = "[redacted]";

/** What a secret looks like when we do not know it. In this order: a whole connection string goes before its password. */
const shapes: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(postgres(?:ql)?):\/\/[^\s"'<>]+/gi, `$1://${hidden}`],
  [/\b([a-z][a-z0-9+.-]{1,20}):\/\/[^\s"'<>]*@/gi, `$1://${hidden}@`],
  [/\bbearer\s+[^\s"',;]{6,}/gi, `Bearer ${hidden}`],
  [/\bbasic\s+[a-z0-9+/=]{12,}/gi, `Basic ${hidden}`],
  [
    /\b((?:pg)?password|passwd|passphrase|pwd|secret|credentials?|(?:access[_ -]?)?token|api[_ -]?key|authorization)\b(["']?\s*(?:=>?|:|%3D)\s*)(?!Bearer \[|Basic \[)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;&})]+)/gi,
    `$1$2${hidden}`,
  ],
  [/\b(password|passwd|secret|token|key)\s+(?:is\s+)?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/gi, `$1 ${hidden}`],
  [/[^\s:@/"'<>]{1,63}:[^\s@/"'<>[]{1,200}@(?=[\w-]+\.\w)/g, `${hidden}@`],
  [/\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)?/g, hidden],
  [/\b(?:napi|npg|sk|ghp|gho)[_-][\w-]{6,}/gi, hidden],
];

/**
 * Takes connection strings, passwords, bearer tokens and API keys out of a text, wherever they came from, and the very
 * values in `known`.
 *
 * Rather takes too much: of an address with a user everything up to the last `@` of the word goes. Its time grows with
 * the square of the text's length at worst: a text from outside is to be cut before.
 *
 * @param known secrets in use; an empty one is passed over.
 */
export function withoutSecrets(text: string, known: readonly string[] = []): string {
  const unnamed = known.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, hidden)), text);
  return shapes.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), unnamed);
}
