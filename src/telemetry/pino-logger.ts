import { type DestinationStream, destination, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger } from "../domain/logger.ts";
import { withoutSecrets } from "../domain/without-secrets.ts";

interface PinoLoggerOptions {
  readonly level: string;
  /** Every form in which a text may contain a secret; only fields with names of objects may show one. @default none */
  readonly knownSecrets?: () => readonly string[];
  readonly stream?: DestinationStream;
}

/**
 * A warning or an error is written before the call returns. Other lines wait for 50 ms at most, or until the process
 * exits; SIGKILL can lose them. The message is a constant of the code, so only fields are redacted. Never throws.
 */
export function createPinoLogger(options: PinoLoggerOptions): Logger {
  const { knownSecrets = () => [] } = options;
  const output = options.stream === undefined ? createOutput() : undefined;
  const log = pino(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.stream ?? output,
  );
  const write = (level: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) => {
    if (log.isLevelEnabled(level)) {
      // A key file may change between two lines, so each line asks for the secrets.
      const known = knownSecrets();
      const redact: Redact = (text) => withoutSecrets(text, known);
      log[level](redactValue(fields, redact) as object, message);
    }
    if (level === "warn" || level === "error") {
      output?.flush();
    }
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** In a burst, each write would cost as much as a request. If the output is closed, log lines are lost. */
function createOutput() {
  const output = destination({ fd: 1, sync: true, minLength: 8_192, periodicFlush: 50 });
  // Its method `flushSync` would try for ever to write to a closed output.
  process.on("exit", () => output.flush());
  return output;
}

/** The maximum depth of a log field: enough for an error with its causes. It also ends a cycle of objects. */
const deepest = 6;

type Redact = (text: string) => string;

/** Not redacted: else a tenant could choose another tenant's name as its password, and so hide it in the log. */
const nameFields = new Set(["namespace", "name", "uid", "kind", "planeId", "project", "projectId", "identity", "step"]);

/** The copy has no secrets and can be written as JSON: errors become plain objects with their causes. */
export function redactValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === "string") {
    return redact(value);
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
  const fields = Object.entries(value instanceof Error ? fieldsOf(value) : value);
  const redacted = fields.map(([name, field]) => [
    name,
    redactValue(field, nameFields.has(name) ? (text) => text : redact, depth + 1),
  ]);
  return Object.fromEntries(redacted);
}

/** Other fields are left out: in a library's error they may have headers and bodies. */
function fieldsOf(error: Error): Record<string, unknown> {
  const { reason, effect, code } = error as { reason?: unknown; effect?: unknown; code?: unknown };
  const { name, message, stack, cause } = error;
  return { name, message, reason, effect, code, stack, cause };
}
