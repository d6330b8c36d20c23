/** Fields of a log line. Never a key, a password or a connection string. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logging: a constant message plus fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}
