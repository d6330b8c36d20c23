/** Switches tracing on: records spans with OpenTelemetry, and sends them to a receiver. */
import { AsyncLocalStorage } from "node:async_hooks";
import { type Attributes, type Tracer as OtelTracer, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../domain/clock.ts";
import { type Logger, reasonOf, type SpanAttributes, type Tracer } from "../domain/logger.ts";

interface TracingOptions {
  /** The base URL of an OTLP receiver over HTTP, without a trailing slash. Spans go to `/v1/traces` below the URL. */
  readonly endpoint: string;
  readonly version: string;
  /** The name that distinguishes this process from its replicas. */
  readonly instance: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The maximum number of spans that wait to be sent. More are dropped, so memory stays limited without a receiver. */
const mostWaiting = 2_048;

/** The maximum length of an attribute in characters. A longer text is cut. */
const longestText = 256;

/** The minimum interval between two warnings about lost spans, in milliseconds. */
const quietMs = 600_000;

/**
 * Switches tracing on: spans are sent in batches as OTLP (protobuf over HTTP).
 * The exporter also reads the standard variables `OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT`, `_COMPRESSION` and
 * `_CERTIFICATE`. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override the attributes set here. OpenTelemetry's
 * global objects are not changed.
 * @returns the tracer, and a function that sends the waiting spans and never rejects. It may take as long as the
 *   exporter's timeout.
 */
export function startTracing({ endpoint, version, instance, clock, logger }: TracingOptions) {
  const exporter = new OTLPTraceExporter({ url: `${endpoint}/v1/traces` });
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const own = { "service.name": "endpoint-operator", "service.version": version, "service.instance.id": instance };
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    spanLimits: { attributeValueLengthLimit: longestText },
    spanProcessors: [
      new BatchSpanProcessor({
        maxQueueSize: mostWaiting,
        exporter: {
          shutdown: () => exporter.shutdown(),
          export: (spans, onResult) =>
            exporter.export(spans, (result) => {
              // The texts of the error are not logged, because they come from the receiver.
              if (result.code !== 0 && clock.monotonicMs() >= quietUntilMs) {
                quietUntilMs = clock.monotonicMs() + quietMs;
                const { code } = result.error as { readonly code?: unknown };
                logger.warn({ spans: spans.length, why: code }, "traces are lost: their receiver does not accept them");
              }
              onResult(result);
            }),
        },
      }),
    ],
  });
  const shutDown = () => provider.shutdown().catch(() => undefined);
  return { tracer: createTracer(provider.getTracer("endpoint-operator", version)), shutDown };
}

/** Makes a `Tracer` that records spans with OpenTelemetry. The current span is kept in the asynchronous context. */
export function createTracer(tracer: OtelTracer): Tracer {
  const current = new AsyncLocalStorage<Span>();
  const annotate = (span: Span | undefined, attributes: SpanAttributes) => {
    span?.setAttributes(attributes as Attributes);
    if (attributes["error.type"] !== undefined) span?.setStatus({ code: 2, message: `${attributes["error.type"]}` });
  };
  return {
    inSpan(name, attributes, work) {
      const parent = current.getStore();
      const span = tracer.startSpan(name, {}, parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT);
      annotate(span, attributes);
      return current.run(span, () =>
        work()
          .catch((error: unknown) => {
            annotate(span, { "error.type": reasonOf(error) });
            throw error;
          })
          .finally(() => span.end()),
      );
    },
    annotate: (attributes) => annotate(current.getStore(), attributes),
  };
}
