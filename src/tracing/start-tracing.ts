/** Switches tracing on: sends spans to a receiver, and logs when spans are lost. */
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Clock } from "../domain/clock.ts";
import type { Logger, Tracer } from "../domain/logger.ts";
import { createOtelTracer } from "./otel-tracer.ts";

interface TracingOptions extends ReportingOptions {
  /** The base URL of an OTLP receiver over HTTP, without a trailing slash. Spans go to `/v1/traces` below the URL. */
  readonly endpoint: string;
  readonly version: string;
  /** The name that distinguishes this process from its replicas. */
  readonly instance: string;
  readonly redact: (text: string) => string;
}

/** The tracer of this process, and how to stop it. */
export interface Tracing {
  readonly tracer: Tracer;
  /**
   * Sends the waiting spans. This may take as long as the exporter's timeout, so the caller needs a limit of its own.
   * Spans that cannot be sent are lost. Never rejects.
   */
  shutDown(): Promise<void>;
}

/**
 * The maximum number of spans that wait to be sent. More spans are dropped, so memory stays limited while the receiver
 * is down.
 */
const mostWaiting = 2_048;

/** The maximum length of an attribute in characters. A longer text is cut. */
const longestText = 256;

/**
 * Switches tracing on: spans are sent in batches as OTLP (protobuf over HTTP).
 * The exporter also reads the standard variables `OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT`, `_COMPRESSION` and
 * `_CERTIFICATE`. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override the attributes set here. OpenTelemetry's
 * global objects are not changed.
 */
export function startTracing(options: TracingOptions): Tracing {
  const { endpoint, version, instance, redact } = options;
  const own = resourceFromAttributes({
    "service.name": "endpoint-operator",
    "service.version": version,
    "service.instance.id": instance,
  });
  const exporter = withReports(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }), options);
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] })),
    spanLimits: { attributeValueLengthLimit: longestText },
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: mostWaiting })],
  });
  return {
    tracer: createOtelTracer({ tracer: provider.getTracer("endpoint-operator", version), redact }),
    // The exporter has already logged spans that it could not send.
    shutDown: () => provider.shutdown().catch(() => undefined),
  };
}

interface ReportingOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The minimum interval between two warnings about lost spans, in milliseconds. */
const quietMs = 600_000;

/**
 * Adds log lines to an exporter: a warning when spans begin to be lost, at most once in ten minutes, and an info line
 * when spans arrive again. A line has an HTTP status or an error code, never a text of the receiver.
 */
export function withReports(inner: SpanExporter, { clock, logger }: ReportingOptions): SpanExporter {
  let isToldLost = false;
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const arrived = () => {
    if (isToldLost) {
      isToldLost = false;
      logger.info({}, "traces arrive again");
    }
  };
  const lost = (spans: number, error: unknown) => {
    const nowMs = clock.monotonicMs();
    if (!isToldLost && nowMs >= quietUntilMs) {
      isToldLost = true;
      quietUntilMs = nowMs + quietMs;
      logger.warn({ spans, why: codeOf(error) }, "traces are lost: their receiver does not accept them");
    }
  };
  return {
    export(spans, onResult) {
      inner.export(spans, (result) => {
        if (result.error === undefined && result.code === 0) {
          arrived();
        } else {
          lost(spans.length, result.error);
        }
        onResult(result);
      });
    },
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
    shutdown: () => inner.shutdown(),
  };
}

/** Returns the HTTP status, or Node's error code, or else the name of the error. */
function codeOf(error: unknown): string | number {
  const { code, name, cause } = (error ?? {}) as {
    readonly code?: unknown;
    readonly name?: unknown;
    readonly cause?: unknown;
  };
  if (typeof code === "number" || typeof code === "string") {
    return code;
  }
  return cause === undefined ? String(name ?? "unknown") : codeOf(cause);
}
