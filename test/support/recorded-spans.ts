/** Records spans in memory. */
import type { Attributes } from "@opentelemetry/api";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Tracer } from "../../src/domain/logger.ts";
import { createTracer } from "../../src/tracing/start-tracing.ts";

/** A span that has ended. */
export interface RecordedSpan {
  readonly name: string;
  /** The name of the parent span; `undefined`: there is none. */
  readonly parent: string | undefined;
  readonly attributes: Attributes;
  /** Why the span is marked as failed; `undefined`: it is not. */
  readonly failure: string | undefined;
}

/**
 * Makes a tracer for the operator.
 * @returns it, and the ended spans, ordered by their end
 */
export function recordSpans(): { readonly tracer: Tracer; spans(): readonly RecordedSpan[] } {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const spans = () => {
    const ended = exporter.getFinishedSpans();
    const nameById = new Map(ended.map((span) => [span.spanContext().spanId, span.name]));
    return ended.map(({ name, parentSpanContext, attributes, status }) => ({
      name,
      parent: parentSpanContext === undefined ? undefined : nameById.get(parentSpanContext.spanId),
      attributes,
      failure: status.code === 2 ? status.message : undefined,
    }));
  };
  return { tracer: createTracer(provider.getTracer("test")), spans };
}
