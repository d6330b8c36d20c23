import { withoutSecrets } from "../domain/without-secrets.ts";

const hidden = "[redacted]";

const secretField =
  /password|passwd|secret|api[_-]?key|authorization|connection[_-]?(string|ur[il])|(access|bearer)token/i;

/** Deep enough for an error with its causes; also ends on an object that holds itself. */
const deepest = 6;

/** Replaces what must never be shown in one line of text. */
export type Redact = (text: string) => string;

/**
 * Takes out what looks like a secret, and the very values that `knownSecrets` answers.
 *
 * @param knownSecrets asked on every call, because a key file may change.
 */
export function createRedact(knownSecrets: () => readonly string[]): Redact {
  return (text) => withoutSecrets(text, knownSecrets());
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
