/** Decodes the traces that arrive. */
import protobuf from "protobufjs";

/**
 * The parts of an export request that the tests read, with the field numbers of the protocol.
 * @see https://github.com/open-telemetry/opentelemetry-proto, collector/trace/v1 and trace/v1 (read 2026-11-21)
 */
const messages = {
  ExportTraceServiceRequest: { fields: { resourceSpans: { rule: "repeated", type: "ResourceSpans", id: 1 } } },
  ResourceSpans: {
    fields: { resource: { type: "Resource", id: 1 }, scopeSpans: { rule: "repeated", type: "ScopeSpans", id: 2 } },
  },
  Resource: { fields: { attributes: { rule: "repeated", type: "KeyValue", id: 1 } } },
  ScopeSpans: { fields: { spans: { rule: "repeated", type: "Span", id: 2 } } },
  Span: {
    fields: {
      traceId: { type: "bytes", id: 1 },
      spanId: { type: "bytes", id: 2 },
      parentSpanId: { type: "bytes", id: 4 },
      name: { type: "string", id: 5 },
      kind: { type: "int32", id: 6 },
      startTimeUnixNano: { type: "fixed64", id: 7 },
      endTimeUnixNano: { type: "fixed64", id: 8 },
      attributes: { rule: "repeated", type: "KeyValue", id: 9 },
      events: { rule: "repeated", type: "Event", id: 11 },
      status: { type: "Status", id: 15 },
    },
  },
  Event: { fields: { name: { type: "string", id: 2 }, attributes: { rule: "repeated", type: "KeyValue", id: 3 } } },
  Status: { fields: { message: { type: "string", id: 2 }, code: { type: "int32", id: 3 } } },
  KeyValue: { fields: { key: { type: "string", id: 1 }, value: { type: "AnyValue", id: 2 } } },
  AnyValue: {
    oneofs: { value: { oneof: ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue"] } },
    fields: {
      stringValue: { type: "string", id: 1 },
      boolValue: { type: "bool", id: 2 },
      intValue: { type: "int64", id: 3 },
      doubleValue: { type: "double", id: 4 },
      arrayValue: { type: "ArrayValue", id: 5 },
    },
  },
  ArrayValue: { fields: { values: { rule: "repeated", type: "AnyValue", id: 1 } } },
};

/** A value of an attribute. Whole numbers become numbers, and bytes are ignored. */
export type AttributeValue = string | number | boolean | readonly AttributeValue[];

/** Attributes by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

/** A span as it arrived. */
export interface ReceivedSpan {
  /** The id of the trace. All ids are hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  /** The id of the parent span; `undefined`: the span is the first of its trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** 1 internal, 3 client. */
  readonly kind: number;
  /** The time in epoch nanoseconds. */
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Attributes;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  /** Whether it is marked as failed. */
  readonly isFailed: boolean;
  /** The attributes of the process that sent it. */
  readonly resource: Attributes;
}

interface AnyValue {
  readonly value?: "stringValue" | "boolValue" | "intValue" | "doubleValue" | "arrayValue";
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
}

type KeyValues = readonly { readonly key: string; readonly value?: AnyValue }[];

interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: KeyValues;
  readonly events?: readonly { readonly name: string; readonly attributes?: KeyValues }[];
  readonly status?: { readonly code?: number };
}

interface WireRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: KeyValues };
    readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[];
  }[];
}

const requestType = protobuf.Root.fromJSON({ nested: messages }).lookupType("ExportTraceServiceRequest");

/**
 * Parses the body of an export request.
 * @throws Error when it is no export request
 */
export function decodeTraces(body: Uint8Array): readonly ReceivedSpan[] {
  const options = { longs: String, bytes: String, oneofs: true };
  const request = requestType.toObject(requestType.decode(body), options) as WireRequest;
  return (request.resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => spanOf(span, attributesOf(resource?.attributes)))),
  );
}

function spanOf(span: WireSpan, resource: Attributes): ReceivedSpan {
  return {
    traceId: hexOf(span.traceId),
    spanId: hexOf(span.spanId),
    parentSpanId: span.parentSpanId ? hexOf(span.parentSpanId) : undefined,
    name: span.name,
    kind: span.kind,
    startNanos: BigInt(span.startTimeUnixNano),
    endNanos: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: attributesOf(attributes) })),
    isFailed: span.status?.code === 2,
    resource,
  };
}

function attributesOf(pairs: KeyValues = []): Attributes {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, readValue(value ?? {})]));
}

function readValue(any: AnyValue): AttributeValue {
  if (any.arrayValue !== undefined) return (any.arrayValue.values ?? []).map(readValue);
  if (any.intValue !== undefined) return Number(any.intValue);
  return any.stringValue ?? any.boolValue ?? any.doubleValue ?? "";
}

function hexOf(base64: string): string {
  return Buffer.from(base64, "base64").toString("hex");
}
