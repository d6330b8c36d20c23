/** Writes log lines as JSON, without secrets. */
import { type DestinationStream, destination, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger } from "../domain/logger.ts";
import { withoutSecrets } from "../domain/without-secrets.ts";

/** The options of the logger. */
interface PinoLoggerOptions {
  /** The log level, one of pino's names. */
  readonly level: string;
  /** Returns the forms of the secrets in use now. None of them is written in a text of others. @default none */
  readonly knownSecrets?: () => readonly string[];
  /** Where the lines are written. @default standard output */
  readonly stream?: DestinationStream;
}

/**
 * Makes a logger of JSON lines: `time` (RFC 3339), `level` (its name), `message`, and the fields.
 * A warning or an error is written before the call returns. The other lines wait for 50 ms at most, and are written
 * together then, or when the process exits. SIGKILL can lose them. Secrets are removed from fields and errors; the message is a constant
 * of the code. Never throws.
 */
export function createPinoLogger(options: PinoLoggerOptions): Logger {
  const { knownSecrets = () => [] } = options;
  const output = options.stream === undefined ? createOutput() : { stream: options.stream, flush: () => {} };
  const log = pino(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    output.stream,
  );
  const write = (level: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) => {
    if (log.isLevelEnabled(level)) {
      // They are asked for once in each line, because a key file may change between two lines.
      const known = knownSecrets();
      const redact: Redact = (text) => withoutSecrets(text, known);
      log[level](redactValue(fields, redact) as object, message);
    }
    if (level === "warn" || level === "error") {
      output.flush();
    }
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

/** Where lines go, and how to write at once what waits. */
interface Output {
  readonly stream: DestinationStream;
  flush(): void;
}

/** Lines wait until they have this many characters, or for `waitingMs`. */
const waitingCharacters = 8_192;

/** The longest time that a line waits, in milliseconds. */
const waitingMs = 50;

/**
 * Opens standard output. In a burst, a write for each line would cost as much as a request. A closed output ends the
 * log, and not the process.
 */
function createOutput(): Output {
  const target = destination({ fd: 1, sync: true });
  let waiting = "";
  const flush = () => {
    const lines = waiting;
    waiting = "";
    // A flush of the target itself would try for ever to write to a closed output.
    if (lines !== "") {
      target.write(lines);
    }
  };
  process.on("exit", flush);
  const write = (line: string) => {
    if (waiting === "") {
      setTimeout(flush, waitingMs).unref();
    }
    waiting += line;
    if (waiting.length >= waitingCharacters) {
      flush();
    }
  };
  return { stream: { write }, flush };
}

const hidden = "[redacted]";

const secretField =
  /password|passwd|secret|api[_-]?key|authorization|connection[_-]?(string|ur[il])|(access|bearer)token/i;

/** The maximum depth of a log field: enough for an error with its causes. It also ends a cyclic object. */
const deepest = 6;

/** A function that removes secrets from a text. */
type Redact = (text: string) => string;

/**
 * Names of objects. A tenant chooses its own keys and passwords. If they were removed from these fields, a tenant could
 * remove the name of another tenant from the log.
 */
const nameFields = new Set(["namespace", "name", "uid", "kind", "planeId", "project", "projectId", "identity", "step"]);

/**
 * Makes a function that removes what looks like a secret, and the values of `knownSecrets`.
 * @param knownSecrets called for every text, because a key file may change.
 */
export function createRedact(knownSecrets: () => readonly string[]): Redact {
  return (text) => withoutSecrets(text, knownSecrets());
}

/**
 * Copies the value of a log field. The copy has no secrets and can be written as JSON: errors become plain objects with
 * their causes, and a value that JSON cannot hold becomes text.
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

const withoutPatterns: Redact = (text) => withoutSecrets(text);

function redactFields(fields: object, redact: Redact, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      secretField.test(name) && value !== undefined
        ? hidden
        : redactValue(value, nameFields.has(name) ? withoutPatterns : redact, depth),
    ]),
  );
}

/**
 * Returns the fields of our own errors. Fields of a library's error are left out, because they may contain headers and
 * bodies.
 */
function fieldsOf(error: Error): Record<string, unknown> {
  const { reason, effect, code } = error as { reason?: unknown; effect?: unknown; code?: unknown };
  const { name, message, stack, cause } = error;
  return { name, message, reason, effect, code, stack, cause };
}
