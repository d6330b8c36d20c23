import { type DestinationStream, destination, pino, stdTimeFunctions } from "pino";
import type { LogFields, Logger } from "../domain/logger.ts";
import { createRedact, redactValue } from "./redact-secrets.ts";

/** How the log is written. */
export interface PinoLoggerOptions {
  /** pino's level names. */
  readonly level: string;
  /** The secrets in use right now; none of them is ever written. @default none */
  readonly knownSecrets?: () => readonly string[];
  /** @default standard output */
  readonly stream?: DestinationStream;
}

/**
 * JSON lines: `time` (RFC 3339), `level` (its name), `message`, and the fields.
 *
 * Each line is written before the call returns, so none is lost when the process exits. Fields and errors are
 * cleaned of secrets; the message is a constant of ours. Never throws.
 */
export function createPinoLogger(options: PinoLoggerOptions): Logger {
  const redact = createRedact(options.knownSecrets ?? (() => []));
  const log = pino(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    options.stream ?? destination({ fd: 1, sync: true }),
  );
  const write = (level: "debug" | "info" | "warn" | "error") => (fields: LogFields, message: string) => {
    if (log.isLevelEnabled(level)) {
      log[level](redactValue(fields, redact) as object, message);
    }
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}
