/** A receiver of traces. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { decodeTraces, type ReceivedSpan } from "./otlp-schema.ts";
import { saveOutput } from "./outputs.ts";
import { waitUntil } from "./wait-until.ts";

/** What the receiver does with a request: it accepts it, refuses it, or never answers. */
export type ReceiverMood = "Takes" | "Refuses" | "Hangs";

/** A receiver of traces on loopback, until the test ends: OTLP, protobuf over HTTP, at `/v1/traces`. */
export class OtlpReceiver {
  readonly #spans: ReceivedSpan[] = [];
  readonly #bodies: Buffer[] = [];
  /** The headers of every request, in order. */
  readonly headers: IncomingMessage["headers"][] = [];
  mood: ReceiverMood = "Takes";
  /** Said when it refuses. */
  refusal = "not now";
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  private constructor() {}

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    const server = receiver.#server;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(async () => {
      saveOutput("traces", receiver.text());
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return receiver;
  }

  /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns the received spans, ordered by their start. */
  spans(): readonly ReceivedSpan[] {
    return [...this.#spans].sort((a, b) => (a.startNanos < b.startNanos ? -1 : 1));
  }

  /** Waits until a span has arrived for which the condition is true. */
  untilSpan(what: string, isWanted: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan> {
    return waitUntil(() => this.spans().find(isWanted), {
      what: `a span arrives: ${what}`,
      lastSeen: () => this.spans().map(({ name, attributes }) => ({ name, attributes })),
    });
  }

  /** Returns the spans directly within a span. */
  childrenOf({ traceId, spanId }: ReceivedSpan): readonly ReceivedSpan[] {
    return this.spans().filter((span) => span.traceId === traceId && span.parentSpanId === spanId);
  }

  /** Returns everything that has arrived, as text: the attributes as JSON, and then the bytes as they came. */
  text(): string {
    const spans = this.spans().map(({ name, attributes }) => JSON.stringify({ name, ...attributes }));
    return [...spans, Buffer.concat(this.#bodies).toString()].join("\n");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.headers.push(request.headers);
    if (this.mood === "Hangs") return;
    if (this.mood === "Refuses" || request.method !== "POST" || request.url !== "/v1/traces") {
      response.writeHead(400).end(this.refusal);
      return;
    }
    const body = Buffer.concat(chunks);
    this.#bodies.push(body);
    this.#spans.push(...decodeTraces(body));
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  }
}
