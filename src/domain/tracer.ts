/** Attributes of a span, by name. `undefined` is left out. Never a key, a password or a text of the control plane. */
export type SpanAttributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A span that begins. */
export interface SpanStart {
  /** One of a few: what differs from span to span is an attribute. */
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** `Client`: a call to another program. @default "Internal" */
  readonly kind?: "Internal" | "Client";
  /** Begins a trace of its own, whatever it is called in. @default false */
  readonly isDetached?: boolean;
}

/**
 * Records spans: each piece of work, the work inside it, and how long each took.
 *
 * Guarantees: it never throws by itself, never waits, and changes nothing about the work. Without a receiver of traces there
 * is no tracer.
 */
export interface Tracer {
  /**
   * Does the work within a span: a child of the one that the caller is in. The span ends with the work; what the work
   * throws marks it as failed, by `reasonOf`, and is thrown on.
   */
  inSpan<Result>(start: SpanStart, work: () => Promise<Result>): Promise<Result>;
  /** Adds to the span that the caller is in; outside of one, nothing. */
  annotate(attributes: SpanAttributes): void;
  /** Notes that something happened in the span that the caller is in. */
  addEvent(name: string, attributes: SpanAttributes): void;
  /** Marks the span that the caller is in as failed. @param reason of a closed set */
  fail(reason: string): void;
}

/** The reason of one of our errors, else the error's name: never its message, which may hold anything. */
export function reasonOf(error: unknown): string {
  const { reason, name } = (error ?? {}) as { readonly reason?: unknown; readonly name?: unknown };
  return typeof reason === "string" ? reason : typeof name === "string" ? name : "Error";
}
