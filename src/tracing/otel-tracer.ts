/** Records spans with OpenTelemetry, behind the port `Tracer`. */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Tracer as OtelTracer,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { reasonOf, type SpanAttributes, type Tracer } from "../domain/logger.ts";

/** The OpenTelemetry tracer, and the function that removes secrets. */
export interface OtelTracerOptions {
  readonly tracer: OtelTracer;
  /** Removes secrets from every text that becomes an attribute. */
  readonly redact: (text: string) => string;
}

/**
 * Makes a `Tracer` that records spans with OpenTelemetry. The current span is kept in the asynchronous context.
 * OpenTelemetry's global objects are not used, so several tracers in one process do not affect each other.
 */
export function createOtelTracer({ tracer, redact }: OtelTracerOptions): Tracer {
  const current = new AsyncLocalStorage<Span>();
  return {
    inSpan({ name, kind, attributes, isDetached = false }, work) {
      const parent = isDetached ? undefined : current.getStore();
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
      const options = {
        kind: kind === "Client" ? SpanKind.CLIENT : SpanKind.INTERNAL,
        attributes: cleaned(attributes, redact),
      };
      const span = tracer.startSpan(name, options, context);
      return current.run(span, async () => {
        try {
          return await work();
        } catch (error) {
          fail(span, reasonOf(error));
          throw error;
        } finally {
          span.end();
        }
      });
    },
    annotate: (attributes) => void current.getStore()?.setAttributes(cleaned(attributes, redact)),
    addEvent: (name, attributes) => void current.getStore()?.addEvent(name, cleaned(attributes, redact)),
    fail(reason) {
      const span = current.getStore();
      if (span !== undefined) {
        fail(span, reason);
      }
    },
  };
}

function fail(span: Span, reason: string): void {
  span.setAttribute("error.type", reason);
  span.setStatus({ code: SpanStatusCode.ERROR, message: reason });
}

function cleaned(attributes: SpanAttributes, redact: (text: string) => string): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, clean(value, redact)]])),
  );
}

function clean(
  value: string | number | readonly string[],
  redact: (text: string) => string,
): string | number | string[] {
  if (typeof value === "number") {
    return value;
  }
  return typeof value === "string" ? redact(value) : value.map(redact);
}
