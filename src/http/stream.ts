import type { HttpDispatcher } from "./dispatchers.ts";
import type { HttpRequest } from "./exchange.ts";

/** An answer whose body arrives piece by piece, for as long as the server likes. */
export interface StreamedAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body, for an answer that is not a stream; at most `maxBytes` of it. Never throws. */
  text(maxBytes: number): Promise<string>;
}

/**
 * Sends one request and returns when the headers of the answer are there.
 *
 * It sets no time limit: the caller ends it, and the body, by the signal.
 *
 * @throws what undici throws; with the signal's reason once the signal has fired.
 */
export async function openStream(
  dispatcher: HttpDispatcher,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<StreamedAnswer> {
  const { statusCode, headers, body } = await dispatcher.request({
    ...request,
    headers: { ...request.headers },
    body: request.body ?? null,
    signal,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    status: statusCode,
    retryAfter: firstOf(headers["retry-after"]),
    date: firstOf(headers.date),
    body,
    text: (maxBytes) => readStart(body, maxBytes),
  };
}

async function readStart(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk.subarray(0, maxBytes - length));
      length += chunk.length;
      if (length >= maxBytes) {
        break;
      }
    }
  } catch {
    // What has arrived is enough for an error text.
  }
  return Buffer.concat(chunks).toString("utf8");
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
