/** Decodes the traces that arrive. */
import protobuf from "protobufjs";

/**
 * The parts of an export request that the tests read.
 * @see https://github.com/open-telemetry/opentelemetry-proto, collector/trace/v1 and trace/v1 (read 2026-11-21)
 */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
  message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
  message Resource { repeated KeyValue attributes = 1; }
  message ScopeSpans { repeated Span spans = 2; }
  message Span {
    bytes trace_id = 1;
    bytes span_id = 2;
    bytes parent_span_id = 4;
    string name = 5;
    fixed64 start_time_unix_nano = 7;
    fixed64 end_time_unix_nano = 8;
    repeated KeyValue attributes = 9;
    Status status = 15;
  }
  message Status { int32 code = 3; }
  message KeyValue { string key = 1; AnyValue value = 2; }
  message AnyValue {
    oneof value {
      string string_value = 1;
      bool bool_value = 2;
      int64 int_value = 3;
      double double_value = 4;
      ArrayValue array_value = 5;
    }
  }
  message ArrayValue { repeated AnyValue values = 1; }
`);

/** A value of an attribute. Whole numbers become numbers, and bytes are ignored. */
type AttributeValue = string | number | boolean | readonly AttributeValue[];

type Attributes = Readonly<Record<string, AttributeValue>>;

/** A span as it arrived. */
export interface ReceivedSpan {
  /** The id of the trace. All ids are hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** The id of the parent span; `undefined`: the span is the first of its trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** The time in epoch nanoseconds. */
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Attributes;
  /** Whether it is marked as failed. */
  readonly isFailed: boolean;
  /** The attributes of the process that sent it. */
  readonly resource: Attributes;
}

interface AnyValue {
  readonly intValue?: string;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
  readonly [other: string]: unknown;
}

interface Attributed {
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
}

interface WireSpan extends Attributed, Record<"traceId" | "spanId" | "parentSpanId" | "name", string> {
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
}

interface WireResourceSpans {
  readonly resource: Attributed;
  readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
}

const requestType = root.lookupType("ExportTraceServiceRequest");

/** @throws Error when the body is no export request */
export function decodeTraces(body: Uint8Array): readonly ReceivedSpan[] {
  const request = requestType.toObject(requestType.decode(body), { longs: String, bytes: String, arrays: true });
  return (request.resourceSpans as readonly WireResourceSpans[]).flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => spanOf(span, attributesOf(resource)))),
  );
}

function spanOf(span: WireSpan, resource: Attributes): ReceivedSpan {
  return {
    traceId: hexOf(span.traceId),
    spanId: hexOf(span.spanId),
    parentSpanId: hexOf(span.parentSpanId) || undefined,
    name: span.name,
    startNanos: BigInt(span.startTimeUnixNano),
    endNanos: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span),
    isFailed: span.status?.code === 2,
    resource,
  };
}

function attributesOf({ attributes }: Attributed): Attributes {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, readValue(value)]));
}

function readValue({ arrayValue, intValue, ...other }: AnyValue): AttributeValue {
  if (arrayValue !== undefined) return arrayValue.values.map(readValue);
  return intValue === undefined ? (Object.values(other)[0] as string | number | boolean) : Number(intValue);
}

function hexOf(base64 = ""): string {
  return Buffer.from(base64, "base64").toString("hex");
}
