/** Attributes of a span; `undefined` is left out. They never hold a key, a password or a text of the control plane. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** It never throws by itself, never waits, and does not change the work. */
export interface Tracer {
  /** An error of the work marks the span as failed and is thrown again. @param name one of few fixed names */
  inSpan<Result>(name: string, attributes: SpanAttributes, work: () => Promise<Result>): Promise<Result>;
  /** Adds attributes to the current span, if there is one. `error.type` marks it as failed. */
  annotate(attributes: SpanAttributes): void;
}

/** Returns the reason of one of our errors, else the error's class name; never the message, which may hold secrets. */
export function reasonOf(error: unknown): string {
  const { reason, name } = (error ?? {}) as { readonly reason?: unknown; readonly name?: unknown };
  return typeof reason === "string" ? reason : typeof name === "string" ? name : "Error";
}

/** The fields of a log line. They never hold a key, a password or a connection string. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}
