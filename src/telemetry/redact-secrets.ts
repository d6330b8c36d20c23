const hidden = "[redacted]";

/** In this order: a whole connection string goes before the rule that would only take its password. */
const rules: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(postgres(?:ql)?):\/\/[^\s"'<>]+/gi, `$1://${hidden}`],
  [/\b([a-z][a-z0-9+.-]*):\/\/[^\s"'<>/]*:[^\s"'<>]*@/gi, `$1://${hidden}@`],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${hidden}`],
  [
    /(["']?\b(?:pg)?(?:password|passwd|secret|api[_-]?key|access[_-]?token)\b["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;&}]+)/gi,
    `$1${hidden}`,
  ],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, hidden],
  [/\bnapi_[a-z0-9]+/gi, hidden],
];

const secretField =
  /password|passwd|secret|api[_-]?key|authorization|connection[_-]?(string|ur[il])|(access|bearer)token/i;

/** Deep enough for an error with its causes; also ends on an object that holds itself. */
const deepest = 6;

/** Replaces what must never be shown in one line of text. */
export type Redact = (text: string) => string;

/**
 * Takes connection strings, passwords, bearer tokens and API keys out of a text, wherever they came from.
 *
 * Rather takes too much: after `://user:` everything up to the last `@` of the word goes.
 */
export function redactSecrets(text: string): string {
  return rules.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), text);
}

/**
 * As `redactSecrets`, and besides takes out the very values that `knownSecrets` answers.
 *
 * @param knownSecrets asked on every call, because a key file may change.
 */
export function createRedact(knownSecrets: () => readonly string[]): Redact {
  return (text) => {
    const known = knownSecrets().filter((secret) => secret !== "");
    return redactSecrets(known.reduce((rest, secret) => rest.replaceAll(secret, hidden), text));
  };
}

/**
 * A copy of a log field's value without secrets, ready for JSON: errors become plain objects with their causes.
 *
 * @param value anything; what JSON does not know becomes text.
 */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") {
    return redact(value);
  }
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") {
    return redact(String(value));
  }
  if (typeof value !== "object" || value === null || value instanceof Date) {
    return value;
  }
  if (depth >= deepest) {
    return "…";
  }
  if (Array.isArray(value)) {
    return value.map((item) => redactValue(item, redact, depth + 1));
  }
  return redactFields(value instanceof Error ? fieldsOf(value) : value, redact, depth + 1);
}

function redactFields(fields: object, redact: Redact, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      secretField.test(name) && value !== undefined ? hidden : redactValue(value, redact, depth),
    ]),
  );
}

/** Only what our own errors promise: the other fields of a vendor's error may hold headers and bodies. */
function fieldsOf(error: Error): Record<string, unknown> {
  const { reason, effect, code } = error as { reason?: unknown; effect?: unknown; code?: unknown };
  const { name, message, stack, cause } = error;
  return { name, message, reason, effect, code, stack, cause };
}
