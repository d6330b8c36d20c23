import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { Tracer } from "../domain/tracer.ts";
import { createOtelTracer } from "./otel-tracer.ts";
import { type ReportingOptions, withReports } from "./reporting-exporter.ts";

/** The receiver of the traces, and the attributes of this process. */
export interface TracingOptions extends ReportingOptions {
  /** Base URL of an OTLP receiver over HTTP, without a trailing slash; `/v1/traces` is added. */
  readonly endpoint: string;
  readonly version: string;
  /** This process among its replicas. */
  readonly instance: string;
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string;
}

/** Tracing that is on. */
export interface Tracing {
  readonly tracer: Tracer;
  /**
   * Sends the remaining spans. It may take as long as the exporter's timeout, so the caller needs a limit. Spans that
   * cannot be sent are lost; never rejects.
   */
  shutDown(): Promise<void>;
}

/** Spans that wait to be sent; more are dropped, so that a receiver that is down costs a bounded amount of memory. */
const mostWaiting = 2_048;

/** Characters of one attribute; longer texts are cut. */
const longestText = 256;

/**
 * Turns tracing on: batches of spans as OTLP (protobuf over HTTP).
 *
 * The exporter reads further standard variables itself: `OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT`, `_COMPRESSION`,
 * `_CERTIFICATE`. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override the values set here. Nothing global
 * of OpenTelemetry is touched.
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
    // The exporter has logged what could not be sent.
    shutDown: () => provider.shutdown().catch(() => undefined),
  };
}
