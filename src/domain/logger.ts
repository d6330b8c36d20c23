/** The ports for log lines and for spans of traces. */

/** Attributes of a span; `undefined` is left out. They never hold a key, a password or a text of the control plane. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** How a span begins. */
export interface SpanStart {
  /** The span's name, one of few fixed names. What differs between spans is an attribute. */
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** `Client` for a call to another program. @default "Internal" */
  readonly kind?: "Internal" | "Client";
  /** True: the span begins a new trace instead of joining the current one. @default false */
  readonly isDetached?: boolean;
}

/**
 * Records spans: each piece of work, the work inside it, and how long each took.
 * Guarantees: it never throws by itself, never waits, and does not change the work. If no receiver of traces is set,
 * there is no tracer.
 */
export interface Tracer {
  /**
   * Does the work within a span, a child of the current span. The span ends with the work. An error of the work marks
   * the span as failed with `reasonOf` and is thrown again.
   */
  inSpan<Result>(start: SpanStart, work: () => Promise<Result>): Promise<Result>;
  /** Adds attributes to the current span. Without a current span it does nothing. */
  annotate(attributes: SpanAttributes): void;
  /** Adds an event to the current span. */
  addEvent(name: string, attributes: SpanAttributes): void;
  /** Marks the current span as failed. @param reason one of a closed set */
  fail(reason: string): void;
}

/** Returns the reason of one of our errors, else the error's class name; never the message, which may hold secrets. */
export function reasonOf(error: unknown): string {
  const { reason, name } = (error ?? {}) as { readonly reason?: unknown; readonly name?: unknown };
  return typeof reason === "string" ? reason : typeof name === "string" ? name : "Error";
}

/** The fields of a log line. They never hold a key, a password or a connection string. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logging: each line has a constant message and fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}
