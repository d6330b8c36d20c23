/** The port for structured log lines. */

/** The fields of a log line. They never hold a key, a password or a connection string. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logging: each line has a constant message and fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}
